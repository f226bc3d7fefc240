"""The values present in the groups, in order, with those of the events of a step among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.columns.order import group_order, ranks


@dataclass(frozen=True, eq=False)
class Entries:
    """The values present in every group: each once, with its count.

    `by` are the columns that put values in order: the value itself, or the time it came.
    """

    group: np.ndarray
    value: pa.Array
    by: tuple[pa.Array, ...]
    count: np.ndarray


@dataclass(frozen=True, eq=False)
class Slots:
    """A slot for every value of a group, those of a group in order, from `starts` on.

    `every`, `by` and `group` belong to the entries and then the events; `slots` are those of the
    events, `valid` says which of them count. `example` is a place in `every` for each slot,
    `counts` how often it is present: a kernel that follows the events moves that on.
    """

    every: pa.Array
    by: tuple[pa.Array, ...]
    group: np.ndarray
    slots: np.ndarray
    valid: np.ndarray
    starts: np.ndarray
    example: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of(
        present: Entries,
        values: pa.Array,
        by: tuple[pa.Array, ...],
        groups: np.ndarray,
        group_count: int,
        valid: np.ndarray,
    ) -> Slots:
        """`valid` says which of the events' values count; all values that are present do."""
        every = pa.concat_arrays([present.value, values])
        keys = tuple(pa.concat_arrays([old, new]) for old, new in zip(present.by, by))
        group = np.concatenate([present.group, groups])
        known = len(present.count)
        counted = np.concatenate([np.ones(known, np.bool_), valid])
        slots, starts, example = _arranged(keys, group, counted, group_count)
        counts = np.zeros(len(example), np.int64)
        np.add.at(counts, slots[:known], present.count)
        return Slots(every, keys, group, slots[known:], valid, starts, example, counts)

    def left(self) -> Entries:
        """The values present, once the events have been followed."""
        slots = np.flatnonzero(self.counts > 0)
        index = pa.array(self.example[slots])
        return Entries(
            self.group[self.example[slots]],
            self.every.take(index),
            tuple(key.take(index) for key in self.by),
            self.counts[slots],
        )


def _arranged(
    keys: tuple[pa.Array, ...], group: np.ndarray, counted: np.ndarray, group_count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A slot for every (group, key), in order inside each group; where groups start; an example."""
    index = np.flatnonzero(counted)
    found = dense_ranks([k.take(pa.array(index)) for k in keys], len(index))
    order, _ = group_order(group[index], np.argsort(found, kind="stable"), group_count)
    g, r = group[index][order], found[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (g[1:] != g[:-1]) | (r[1:] != r[:-1])
    slots = np.zeros(len(group), np.int64)
    slots[index[order]] = np.cumsum(fresh) - 1
    starts = np.searchsorted(g[fresh], np.arange(group_count + 1))
    return slots, starts, index[order][fresh]


def dense_ranks(keys: list[pa.Array], length: int) -> np.ndarray:
    """The rank of every row by the keys, equal rows alike, NULL first."""
    if length == 0:
        return np.zeros(0, np.int64)
    found = ranks(keys[0])
    for key in keys[1:]:
        finer = ranks(key)
        found = np.unique(found * (finer.max() + 1) + finer, return_inverse=True)[1]
    return found
