"""Aggregates that need a group's values in order: extremes, quantiles, distinct, first, last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.columns.keys import to_doubles, validity
from millstream.columns.multiset import running_order
from millstream.columns.order import group_order
from millstream.columns.trace import Trace


@dataclass(frozen=True, eq=False)
class Entries:
    """The values present in every group: each once, with its count.

    `by` are the columns that put values in order: the value itself, or the time it came.
    """

    group: np.ndarray
    value: pa.Array
    by: tuple[pa.Array, ...]
    count: np.ndarray


@dataclass(frozen=True)
class Ordered:
    """An aggregate found at a fraction of the ordered values; `finish` makes the result.

    `by_time` orders by the instant and arrival of the rows instead of by value.
    """

    fraction: float | None
    finish: Callable[[pa.Array, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float], pa.Array]
    by_time: bool = False

    def run(
        self,
        trace: Trace,
        weights: np.ndarray,
        groups: np.ndarray,
        values: pa.Array,
        by: tuple[pa.Array, ...],
        present: Entries,
        group_count: int,
        fraction: float | None,
    ) -> tuple[pa.Array, Entries]:
        """The result for every row of the trace, and the values present at the end."""
        every = pa.concat_arrays([present.value, values])
        keys = tuple(pa.concat_arrays([old, new]) for old, new in zip(present.by, by))
        group = np.concatenate([present.group, groups])
        valid = validity(keys[0])
        counted = np.ones(len(group), np.bool_) if valid is None else valid
        slots, starts, example = _slots(keys, group, counted, group_count)
        known = len(present.count)
        counts = np.bincount(slots[:known], weights=present.count, minlength=len(example)).astype(
            np.int64
        )
        wanted = self.fraction if fraction is None else fraction
        assert wanted is not None, "the binder gives a fraction to aggregates without their own"
        at = float(wanted)
        below, above, present_count, distinct_count = running_order(
            trace.event,
            trace.group,
            trace.row,
            len(trace),
            weights,
            counted[known:],
            slots[known:],
            counts,
            starts,
            at,
        )
        number = distinct_count if self.distinct else present_count
        result = self.finish(every, example, below, above, number, at)
        left = np.flatnonzero(counts > 0)
        rest = pa.array(example[left])
        after = Entries(
            group[example[left]], every.take(rest), tuple(k.take(rest) for k in keys), counts[left]
        )
        return result, after

    @property
    def distinct(self) -> bool:
        return self.finish is _number


def _slots(
    keys: tuple[pa.Array, ...], group: np.ndarray, counted: np.ndarray, group_count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A slot for every (group, key), in order inside each group; where groups start; an example."""
    index = np.flatnonzero(counted)
    ranks = _dense_ranks([k.take(pa.array(index)) for k in keys], len(index))
    order, _ = group_order(group[index], np.argsort(ranks, kind="stable"), group_count)
    g, r = group[index][order], ranks[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (g[1:] != g[:-1]) | (r[1:] != r[:-1])
    slots = np.zeros(len(group), np.int64)
    slots[index[order]] = np.cumsum(fresh) - 1
    starts = np.searchsorted(g[fresh], np.arange(group_count + 1))
    return slots, starts, index[order][fresh]


def _dense_ranks(keys: list[pa.Array], length: int) -> np.ndarray:
    """The rank of every row by the keys, equal rows alike, NULL first."""
    if length == 0:
        return np.zeros(0, np.int64)
    ranks = _ranks(keys[0])
    for key in keys[1:]:
        finer = _ranks(key)
        ranks = np.unique(ranks * (finer.max() + 1) + finer, return_inverse=True)[1]
    return ranks


def _ranks(key: pa.Array) -> np.ndarray:
    key = key.cast(pa.int8()) if pa.types.is_boolean(key.type) else key
    ranks = pc.rank(key, tiebreaker="dense").to_numpy().astype(np.int64)
    valid = validity(key)
    return ranks if valid is None else np.where(valid, ranks, 0)


def _value(
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
    index = pa.array(example[np.maximum(below, 0)], mask=sizes <= 0)
    return every.take(index)


def _between(
    every: pa.Array,
    example: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
    sizes: np.ndarray,
    fraction: float,
) -> pa.Array:
    """The value at the fraction, drawn in a straight line between its two neighbours."""
    low = to_doubles(_value(every, example, below, above, sizes, fraction))
    high = to_doubles(_value(every, example, above, above, sizes, fraction))
    place = fraction * (sizes - 1)
    share = pa.array(place - np.floor(place))
    exact = pc.add(pc.multiply(low, pc.subtract(1.0, share)), pc.multiply(high, share))
    return pc.if_else(pc.equal(low, high), low, exact)


def _number(
    every: pa.Array,
    example: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
    sizes: np.ndarray,
    fraction: float,
) -> pa.Array:
    """How many distinct values there are."""
    return pa.array(sizes, pa.int64())


ORDERED = {
    "min": Ordered(0.0, _value),
    "max": Ordered(1.0, _value),
    "median": Ordered(0.5, _between),
    "quantile": Ordered(None, _between),
    "count_distinct": Ordered(0.0, _number),
    "first": Ordered(0.0, _value, by_time=True),
    "last": Ordered(1.0, _value, by_time=True),
}
