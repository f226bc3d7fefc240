"""The rows that meet a condition, with one look at the rows for many conditions of one kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from typing import Literal as TypingLiteral

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.evaluate import evaluate, holds, remembered
from millstream.algebra.expressions import (
    Call,
    Expression,
    Literal,
    conjunction,
    conjuncts,
)
from millstream.algebra.types import DATE, DOUBLE, INTEGER, STRING
from millstream.columns.keys import factorize
from millstream.columns.order import group_order

MOST = 4_096
"""Rows are laid out by a value that has at most so many different ones."""

Side = TypingLiteral["left", "right"]

FEW_OF = 16
"""Rows are put into their order again where they are fewer than one in so many."""

ASKED = 8
"""Changes are moved to the order of a layout when an eighth of them was asked for."""


def kept(condition: Expression, changes: Changes) -> Changes:
    """The changes of the rows for which the condition is true, in their order.

    Where equal parts are computed once, the second condition that compares a value with a constant
    has the rows laid out by that value, or the values sorted, and all others of the kind find
    theirs there. So fifty queries of one part each cost about as much as one look at all rows.

    >>> rows = pa.record_batch({"x": pa.array([5, 7, None, 5])})
    >>> from millstream.algebra.expressions import Column
    >>> from millstream.algebra.types import BOOLEAN
    >>> five = Call("=", (Column("x", INTEGER), Literal(5, INTEGER)), BOOLEAN)
    >>> kept(five, Changes.elements(rows, np.arange(4), np.arange(4))).ts.tolist()
    [0, 3]
    """
    parts, length = conjuncts(condition), len(changes)
    if not length:
        return changes
    for part in parts:
        found = _found(part, changes)
        if found is not None:
            rest = conjunction([other for other in parts if other is not part])
            return found.keep(holds(rest, found.rows, len(found))) if len(parts) > 1 else found
    return changes.pick(np.flatnonzero(holds(condition, changes.rows, length)))


def _found(part: Expression, changes: Changes) -> Changes | None:
    """The changes that meet a comparison, out of a layout; None when there is none to use."""
    match part:
        case Call(function=name, arguments=(value, Literal(value=constant, type=kind))):
            if kind != value.type or constant is None:
                return None
        case _:
            return None
    if name in SIDES:
        asked_for = remembered(changes.rows, ("sorted", value), lambda: _Compared(value))
        index = None if asked_for is None else asked_for.index(name, constant, changes)
        return None if index is None else changes.pick(index)
    if name != "=" or kind not in (INTEGER, STRING, DATE):
        return None
    asked = remembered(changes.rows, ("asked", value), lambda: _Asked(value))
    if asked is None:
        return None
    layout = asked.layout(changes)
    return None if layout is None else layout.at(constant, changes)


@dataclass(eq=False)
class _Layout:
    """Rows by a value: where each value stands, and the rows of all values one after the other.

    Changes are moved to that order once a part of them was asked for; then those of a value are a
    stretch of them.
    """

    number: dict[Any, int]
    order: np.ndarray
    starts: np.ndarray
    taken: int = 0
    moved: tuple[Changes, Changes] | None = None

    def at(self, constant: Any, changes: Changes) -> Changes:
        n = self.number.get(constant)
        if n is None:
            return changes.pick(self.order[:0])
        start, stop = int(self.starts[n]), int(self.starts[n + 1])
        if self.moved is not None and self.moved[0] is changes:
            return self.moved[1].slice(start, stop)
        self.taken += stop - start
        if self.taken * ASKED < len(changes) or changes.previous is not None:
            return changes.pick(self.order[start:stop])
        self.moved = changes, changes.laid_out(self.order)
        return self.moved[1].slice(start, stop)


@dataclass(eq=False)
class _Compared:
    """Which rows lie on one side of a constant, by a value that is sorted once.

    Where few rows do, these are the first or last ones of the sorted values; otherwise all values
    are compared, which have been computed by then. Nothing is kept for the first that asks, nor
    for values that may be NULL or NaN.
    """

    value: Expression
    times: int = 0
    values: np.ndarray | None = None
    order: np.ndarray | None = None
    ranked: np.ndarray | None = None

    def index(self, comparison: str, constant: Any, changes: Changes) -> np.ndarray | None:
        """The places of the rows, counting up; None where they are to be found otherwise."""
        self.times += 1
        if self.times == 2:
            self._sort(changes)
        if self.values is None or self.order is None or self.ranked is None:
            return None
        compare, side, above = SIDES[comparison]
        at = int(np.searchsorted(self.ranked, constant, side=side))
        few = self.order[at:] if above else self.order[:at]
        if len(few) * FEW_OF > len(self.order):
            return np.flatnonzero(compare(self.values, constant))
        return np.sort(few)

    def _sort(self, changes: Changes) -> None:
        found = evaluate(self.value, changes.rows, len(changes))
        if found.null_count or found.type not in (INTEGER, DOUBLE):
            return
        values = found.to_numpy()
        if found.type == DOUBLE and np.isnan(values).any():
            return
        self.values, self.order = values, np.argsort(values, kind="stable")
        self.ranked = values[self.order]


SIDES: dict[str, tuple[Callable[..., np.ndarray], Side, bool]] = {
    ">": (np.greater, "right", True),
    ">=": (np.greater_equal, "left", True),
    "<": (np.less, "left", False),
    "<=": (np.less_equal, "right", False),
}
"""How values are compared with a constant; on which side of equal ones those begin that are above
it, or below; and which of the two are meant."""


@dataclass(eq=False)
class _Asked:
    """How often a value was compared with a constant, and the layout once it pays."""

    value: Expression
    times: int = 0
    made: _Layout | None = None

    def layout(self, changes: Changes) -> _Layout | None:
        """None for the first that asks, and for a value that has too many different ones."""
        self.times += 1
        if self.times == 2:
            self.made = self._laid_out(changes.rows, len(changes))
        return self.made

    def _laid_out(self, rows: pa.RecordBatch, length: int) -> _Layout | None:
        values = evaluate(self.value, rows, length)
        codes, first = factorize([values], length)
        if len(first) > MOST:
            return None
        order, starts = group_order(codes, np.arange(length), len(first))
        shown = values.take(pa.array(first)).to_pylist()
        return _Layout({v: n for n, v in enumerate(shown)}, order, starts)
