"""Methods as statements of blocks: they are called, and what they return becomes rows."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import GeneratorType
from typing import Any

from millstream.blocks.foreign import NONE, ONE, SELF, Foreign
from millstream.blocks.general.python.instance import Live, Spec
from millstream.blocks.general.python.kinds import Unfit, fitting, rows_in, rows_out
from millstream.blocks.general.scope import RETURNED, WINDOW, Frame, Shape
from millstream.blocks.general.values import Row
from millstream.blocks.queries import Columns


class Raised(Exception):
    """A method has raised, or has given what is not declared."""


def method(statement: Foreign, shape: Shape) -> Callable[[Frame], None]:
    """A method as a statement: the attributes are there before it, and are right after it.

    What an instance keeps is as it was if the method raises: the journal has noted every change.
    """
    routine = shape.routine
    spec = Spec(routine, statement.of, shape)
    slot, name = shape.tables[SELF].slot, statement.method
    first = WINDOW + 1
    last = first + (len(routine.arguments) if statement.takes else 0)
    seen = rows_in([kind for _, kind in routine.arguments] if statement.takes else [])
    given = _rows_of(statement, routine.returns)

    def run(f: Frame) -> None:
        try:
            live = f[slot]
            if type(live) is not Live:
                live = f[slot] = Live(spec, f, live)
            live.remember()
            rows = given(getattr(live.object, name)(*seen(f[first:last])))
            live.settle()
        except (Exception, SystemExit) as error:
            raise Raised(_reason(error, name)) from None
        f[RETURNED].extend(rows)

    return run


def _rows_of(statement: Foreign, returns: Columns) -> Callable[[Any], list[Row]]:
    """From what a method returns to rows: None is no row, a list several, a tuple the columns of
    one, anything else the one column."""
    kinds = [kind for _, kind in returns]
    fits, held = [fitting(kind) for kind in kinds], rows_out(kinds)
    width, most = len(kinds), statement.gives

    def row(value: Any) -> Row:
        parts = value if isinstance(value, tuple) else (value,)
        if len(parts) != width:
            wanted = "1 column is" if width == 1 else f"{width} columns are"
            got = "1 value" if len(parts) == 1 else f"{len(parts)} values"
            raise Unfit(f"{wanted} declared, and it returned {got}")
        try:
            return tuple(held([fit(part) for fit, part in zip(fits, parts)]))
        except Unfit as error:
            raise Unfit(f"what it returned does not fit: {error}") from None

    def rows(value: Any) -> list[Row]:
        if value is None:
            return []
        if isinstance(value, list | GeneratorType):
            found = [row(one) for one in value]
        else:
            found = [row(value)]
        if most == NONE or (most == ONE and len(found) > 1):
            wanted = "none is" if most == NONE else "one at most is"
            raise Unfit(f"{wanted} declared, and it returned rows")
        return found

    return rows


def _reason(error: BaseException, method: str) -> str:
    """What went wrong, and where: the method, and the line of its module."""
    if isinstance(error, Unfit):
        return f"{method}: {error}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    line = f", line {frames[-1].lineno}" if frames else ""
    said = str(error)[:500]
    return f"{method}{line}: {type(error).__name__}" + (f": {said}" if said else "")
