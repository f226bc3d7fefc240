"""A routine as closures: how an instance begins, and its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from millstream.algebra.expressions import Call, Case, Cast, Literal
from millstream.blocks.general import leaves, scalars, selects, subqueries
from millstream.blocks.general.scope import (
    DEPTH,
    LIVE,
    PARENT,
    RETURNED,
    SQLCODE,
    WINDOW,
    Frame,
    Layout,
    Places,
    Rows,
    Scope,
    Ways,
)
from millstream.blocks.general.statements import Run, block
from millstream.blocks.general.table import Journal, Table, Window
from millstream.blocks.general.values import Row
from millstream.blocks.general.walk import parts
from millstream.blocks.leaves import (
    Among,
    Argument,
    Exists,
    Field,
    Oldest,
    Quantified,
    Result,
    Scalar,
    SqlCode,
)
from millstream.blocks.queries import Combined, Local, Query, Select, Values
from millstream.blocks.routine import INWINDOW, Block, Delete, Routine, Update

WAYS: Ways = {
    Literal: leaves.literal,
    Argument: leaves.argument,
    Field: leaves.field,
    Result: leaves.result,
    Oldest: leaves.oldest,
    SqlCode: leaves.sqlcode,
    Call: scalars.call,
    Cast: scalars.cast,
    Case: scalars.case,
    Scalar: subqueries.scalar,
    Exists: subqueries.exists,
    Among: subqueries.among,
    Quantified: subqueries.quantified,
    Select: selects.select,
    Values: selects.values,
    Combined: selects.combined,
}
"""How expressions and queries are compiled."""


class Compiled:
    """A routine whose instances are frames.

    `uses_window` says whether its blocks look at `inwindow` in another way than at the tuple that
    leaves. Compiled in two steps, so that a routine can call itself: `complete` makes the blocks.
    """

    def __init__(self, layout: Layout) -> None:
        routine = layout.routine
        self.layout, self.routine = layout, routine
        self.uses_window = _uses_window(routine)
        self.arguments = list(layout.arguments.values())
        self.first_argument = WINDOW + 1
        self.tables = [layout.tables[table.name].slot for table in routine.tables]
        self.is_complete = False

    def complete(self) -> None:
        if self.is_complete:
            return
        self.is_complete = True
        routine, layout = self.routine, self.layout
        self._begins = [
            None if table.begins is None else self._query(table.begins) for table in routine.tables
        ]
        self.initialize = self._block(routine.initialize)
        self.iterate = self._block(routine.iterate)
        self.terminate = self._block(routine.terminate or ())
        self.expire = block(routine.expire or (), layout, WAYS, expiring=True)

    def _block(self, statements: Block) -> tuple[Run, ...]:
        return block(statements, self.layout, WAYS)

    def _query(self, query: Query) -> Rows:
        return Scope(self.layout, WAYS, Places(self.layout.base)).query(query)

    def frame(self, around: Frame | None, depth: int) -> Frame:
        """A frame without arguments and tables."""
        frame: Frame = [None] * self.layout.size
        frame[SQLCODE], frame[PARENT], frame[DEPTH] = 0, around, depth
        frame[LIVE], frame[RETURNED] = frame, []
        return frame

    def begin(self, frame: Frame, journal: Journal | None = None) -> None:
        """Make the tables as they are before the first tuple, whose arguments are in place."""
        frame[SQLCODE] = 0
        if frame[WINDOW] is None:
            frame[WINDOW] = Window(journal)
        for slot, begins in zip(self.tables, self._begins):
            frame[slot] = Table((), journal)
            if begins is not None:
                frame[self.layout.base :] = [None] * (len(frame) - self.layout.base)
                frame[slot] = Table(begins.all(frame), journal)

    def feed(self, frame: Frame, rows: Sequence[Row], newest: bool) -> list[Row]:
        """What a new instance returns for some tuples; none gives none."""
        returned = frame[RETURNED]
        start, stop = self.first_argument, self.first_argument + len(self.arguments)
        for number, row in enumerate(rows):
            frame[start:stop] = row
            if number == 0:
                self.begin(frame)
            if newest:
                returned.clear()
            if self.uses_window:
                frame[WINDOW].enter(number, number, row)
            for statement in self.iterate if number else self.initialize:
                statement(frame)
        for statement in self.terminate if rows else ():
            statement(frame)
        return returned


def _uses_window(routine: Routine) -> bool:
    """Whether anything but `oldest()` in EXPIRE looks at `inwindow`."""
    others = (routine.initialize, routine.iterate, routine.terminate or (), routine.tables)
    return (
        any(isinstance(part, Oldest) for part in parts(others))
        or any(_is_window(part, 0) for part in parts((*others, routine.expire or ())))
        or any(_is_window(part, 1) for part in parts(_statements_inside(routine)))
    )


def _statements_inside(routine: Routine) -> tuple[object, ...]:
    inner = chain.from_iterable((*r.statements(), *_statements_inside(r)) for r in routine.inner)
    return tuple(inner)


def _is_window(part: object, depth: int) -> bool:
    """Whether it is `inwindow`, so many routines around or more."""
    if isinstance(part, Local):
        return part.name == INWINDOW and min(part.depth, 1) == depth
    if isinstance(part, Update | Delete):
        return part.table == INWINDOW and min(part.depth, 1) == depth
    return False
