"""Which rows meet a condition, with one look at the rows for many conditions of one kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.algebra.evaluate import evaluate, holds, remembered
from millstream.algebra.expressions import (
    Call,
    Expression,
    Literal,
    columns_of,
    conjunction,
    conjuncts,
)
from millstream.algebra.types import DATE, INTEGER, STRING
from millstream.columns.keys import factorize
from millstream.columns.order import group_order

MOST = 4_096
"""Rows are laid out by a value that has at most so many different ones."""


def chosen(condition: Expression, rows: pa.RecordBatch, length: int) -> np.ndarray:
    """The places of the rows for which the condition is true, in their order.

    Where equal parts are computed once, the second condition that compares a value with a constant
    has the rows laid out by that value, and all others of the kind find theirs there. So fifty
    queries of one part each cost about as much as one look at all rows.

    >>> rows = pa.record_batch({"x": pa.array([5, 7, None, 5])})
    >>> from millstream.algebra.expressions import Column
    >>> from millstream.algebra.types import BOOLEAN
    >>> five = Call("=", (Column("x", INTEGER), Literal(5, INTEGER)), BOOLEAN)
    >>> chosen(five, rows, 4).tolist()
    [0, 3]
    """
    parts = conjuncts(condition)
    for part in parts:
        found = _laid_out(part, rows, length)
        if found is not None:
            rest = conjunction([other for other in parts if other is not part])
            return found[_meet(rest, rows, found)] if len(parts) > 1 else found
    return np.flatnonzero(holds(condition, rows, length))


def _laid_out(part: Expression, rows: pa.RecordBatch, length: int) -> np.ndarray | None:
    """The rows that meet a comparison, out of a layout; None when there is none to use."""
    match part:
        case Call(function="=", arguments=(value, Literal(value=constant, type=kind))):
            if kind != value.type or kind not in (INTEGER, STRING, DATE) or constant is None:
                return None
        case _:
            return None
    asked = remembered(rows, ("asked", value), lambda: _Asked(value))
    if asked is None:
        return None
    layout = asked.layout(rows, length)
    return None if layout is None else layout.at(constant)


def _meet(condition: Expression, rows: pa.RecordBatch, places: np.ndarray) -> np.ndarray:
    """Which of some rows meet a condition."""
    names = sorted(columns_of(condition))
    some = rows.select(names)
    taken = some.take(pa.array(places)) if names else some
    return holds(condition, taken, len(places))


@dataclass(frozen=True, eq=False)
class _Layout:
    """Rows by a value: where each value stands, and the rows of all values one after the other."""

    number: dict[Any, int]
    order: np.ndarray
    starts: np.ndarray

    def at(self, constant: Any) -> np.ndarray:
        n = self.number.get(constant)
        return self.order[:0] if n is None else self.order[self.starts[n] : self.starts[n + 1]]


@dataclass(eq=False)
class _Asked:
    """How often a value was compared with a constant, and the layout once it pays."""

    value: Expression
    times: int = 0
    made: _Layout | None = None

    def layout(self, rows: pa.RecordBatch, length: int) -> _Layout | None:
        """None for the first that asks, and for a value that has too many different ones."""
        self.times += 1
        if self.times == 2:
            self.made = self._laid_out(rows, length)
        return self.made

    def _laid_out(self, rows: pa.RecordBatch, length: int) -> _Layout | None:
        values = evaluate(self.value, rows, length)
        codes, first = factorize([values], length)
        if len(first) > MOST:
            return None
        order, starts = group_order(codes, np.arange(length), len(first))
        shown = values.take(pa.array(first)).to_pylist()
        return _Layout({v: n for n, v in enumerate(shown)}, order, starts)
