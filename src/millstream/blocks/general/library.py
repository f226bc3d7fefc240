"""The routines that blocks call, compiled once each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millstream.algebra.expressions import Expression
from millstream.blocks.general.compiled import Compiled
from millstream.blocks.general.scope import DEPTH, LIVE, Frame, Scope, Shape, frame_at
from millstream.blocks.general.values import Row
from millstream.blocks.queries import Columns, RoutineName
from millstream.blocks.routine import Delete, Insert, Routine, Update
from millstream.blocks.walking import parts_of
from millstream.errors import MillstreamError

DEEPEST = 500
"""So many calls may be going on inside each other."""


class TooDeep(MillstreamError):
    """A routine that calls itself without end."""


class Library:
    """The routines that a routine and those it calls may name.

    A routine that is defined in another one runs beside a frame of that one: `around` is its
    shape, whose frames callers can reach.
    """

    def __init__(self, outermost: Routine, calls: Mapping[str, Routine]) -> None:
        self.routines = {outermost.name: outermost, **calls}
        self.compiled: dict[tuple[str, Shape | None], Compiled] = {}
        self.outermost = Compiled(Shape(outermost, None, self))
        self.outermost.complete()

    def writes(self, tree: Any) -> bool:
        """Whether something that it calls changes tables of a routine around."""
        return any(_writes_out(routine) for routine in self._called(tree))

    def _called(self, tree: Any) -> list[Routine]:
        """The routines that it calls, and those that these call."""
        found: dict[str, Routine] = {}
        waiting = [tree]
        while waiting:
            for part in parts_of(waiting.pop()):
                if isinstance(part, RoutineName) and part.name not in found:
                    found[part.name] = self.routines[part.name]
                    waiting += [tuple(found[part.name].statements()), found[part.name].tables]
        return list(found.values())

    def fed(
        self, name: RoutineName, newest: bool, scope: Scope
    ) -> Callable[[Frame, list[Row]], list[Row]]:
        """A call of an aggregate: what a new instance of it returns for some tuples."""
        compiled, around = self._find(name, scope.shape)

        def run(f: Frame, rows: list[Row]) -> list[Row]:
            if not rows:
                return []
            return compiled.feed(_instance(compiled, around, f), rows, newest)

        return run

    def tabled(
        self, name: RoutineName, arguments: tuple[Expression, ...], scope: Scope
    ) -> tuple[Columns, Callable[[Frame], list[Row]]]:
        """A call of a table function: its columns, and how its rows are made."""
        compiled, around = self._find(name, scope.shape)
        codes = scope.codes(arguments)

        def run(f: Frame) -> list[Row]:
            row = tuple([code(f) for code in codes])
            return compiled.feed(_instance(compiled, around, f), [row], False)

        return compiled.routine.returns, run

    def _find(
        self, name: RoutineName, shape: Shape
    ) -> tuple[Compiled, Callable[[Frame], Frame] | None]:
        """The routine of a name, and the way to the frame around it, if it is defined in one."""
        routine = self.routines[name.name]
        around: Shape | None = shape
        depth = 0
        while around is not None and not _holds(around.routine, routine):
            around, depth = around.around, depth + 1
        key = name.name, around
        if key not in self.compiled:
            self.compiled[key] = Compiled(Shape(routine, around, self))
            self.compiled[key].complete()
        return self.compiled[key], None if around is None else frame_at(depth)


def _holds(routine: Routine, inner: Routine) -> bool:
    """Whether a routine is defined in another one."""
    return any(inner.described == other.described for other in routine.inner)


def _instance(compiled: Compiled, around: Callable[[Frame], Frame] | None, f: Frame) -> Frame:
    depth = f[DEPTH] + 1
    if depth > DEEPEST:
        name = compiled.routine.name
        raise TooDeep(f'"{name}" is called inside itself more than {DEEPEST} times')
    return compiled.frame(None if around is None else around(f[LIVE]), depth)


def _writes_out(routine: Routine) -> bool:
    writing = (s for s in routine.statements() if isinstance(s, Insert | Update | Delete))
    return any(s.depth > 0 for s in writing)
