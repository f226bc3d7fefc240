"""Aggregates that are found at a place among the ordered values of a group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.entries import Entries, Slots
from millstream.columns.keys import to_doubles, validity
from millstream.columns.multiset import running_order
from millstream.columns.trace import Trace


@dataclass(frozen=True)
class Ordered:
    """An aggregate found at a fraction of the ordered values; `finish` makes the result.

    `by_rest` orders by the further arguments (the instant and arrival of the rows, or another
    column) before the value; rows in which the first of them is NULL do not count.
    """

    fraction: float | None
    finish: Callable[[pa.Array, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float], pa.Array]
    by_rest: bool = False

    def run(
        self,
        trace: Trace,
        weights: np.ndarray,
        groups: np.ndarray,
        values: pa.Array,
        by: tuple[pa.Array, ...],
        present: Entries,
        group_count: int,
        fraction: str | float | None,
    ) -> tuple[pa.Array, Entries]:
        """The result for every row of the trace, and the values present at the end."""
        known = validity(by[0])
        valid = np.ones(len(groups), np.bool_) if known is None else known
        slots = Slots.of(present, values, by, groups, group_count, valid)
        at = self.fraction if fraction is None else float(fraction) * (self.fraction or 1.0)
        assert at is not None, "the binder gives a fraction to aggregates without their own"
        below, above, present_count, distinct_count = running_order(
            trace.event,
            trace.group,
            trace.row,
            len(trace),
            weights,
            valid,
            slots.slots,
            slots.counts,
            slots.starts,
            at,
        )
        sizes = distinct_count if self.distinct else present_count
        result = self.finish(slots.every, slots.example, below, above, sizes, at)
        return result, slots.left()

    @property
    def distinct(self) -> bool:
        return self.finish is number


def value(
    every: pa.Array,
    example: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
    sizes: np.ndarray,
    fraction: float,
) -> pa.Array:
    """The value at the lower slot; NULL where there is none."""
    if len(example) == 0:
        return pa.nulls(len(below), every.type)
    index = pa.array(example[np.maximum(below, 0)], mask=below < 0)
    return every.take(index)


def between(
    every: pa.Array,
    example: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
    sizes: np.ndarray,
    fraction: float,
) -> pa.Array:
    """The value at the fraction, drawn in a straight line between its two neighbours."""
    low = to_doubles(value(every, example, below, above, sizes, fraction))
    high = to_doubles(value(every, example, above, above, sizes, fraction))
    place = fraction * (sizes - 1)
    share = pa.array(place - np.floor(place))
    exact = pc.add(pc.multiply(low, pc.subtract(1.0, share)), pc.multiply(high, share))
    return pc.if_else(pc.equal(low, high), low, exact)


def number(
    every: pa.Array,
    example: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
    sizes: np.ndarray,
    fraction: float,
) -> pa.Array:
    """How many distinct values there are."""
    return pa.array(sizes, pa.int64())
