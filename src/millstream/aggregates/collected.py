"""Aggregates that give all values of a group: as an array, or as a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.entries import Entries, Slots
from millstream.columns.collection import running_lists, running_sizes
from millstream.columns.keys import validity
from millstream.columns.trace import Trace
from millstream.errors import MillstreamError

LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Collected:
    """An aggregate that writes out the values of a group in order; NULL when there are none.

    The order is that of the further arguments (the instant and the arrival), then of the values.
    `nulls` keeps NULLs, `once` takes equal values once. `finish` makes the result of the lists.
    Cost: the size of the result, which is the group anew at every instant at which it changes.
    """

    finish: Callable[[pa.ListArray, str | float | None], pa.Array]
    nulls: bool = False
    once: bool = False
    by_rest: bool = True

    def run(
        self,
        trace: Trace,
        weights: np.ndarray,
        groups: np.ndarray,
        values: pa.Array,
        by: tuple[pa.Array, ...],
        present: Entries,
        group_count: int,
        parameter: str | float | None,
    ) -> tuple[pa.Array, Entries]:
        """The result for every row of the trace, and the values present at the end."""
        valid = _all_valid(by[0] if len(by) > 1 else None, None if self.nulls else values, groups)
        slots = Slots.of(present, values, by, groups, group_count, valid)
        along = (trace.event, trace.group, trace.row)
        moved = (weights, valid, slots.slots)
        sizes = running_sizes(
            *along, len(trace), *moved, slots.counts.copy(), slots.starts, self.once
        )
        offsets = np.zeros(len(trace) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        if offsets[-1] > LARGEST:
            raise _too_large()
        index = running_lists(*along, *moved, slots.counts, slots.starts, self.once, offsets)
        try:
            elements = slots.every.take(pa.array(slots.example[index]))
            lists = pa.ListArray.from_arrays(
                pa.array(offsets.astype(np.int32)), elements, mask=pa.array(sizes <= 0)
            )
            return self.finish(lists, parameter), slots.left()
        except pa.ArrowInvalid:
            raise _too_large() from None


def _all_valid(first: pa.Array | None, second: pa.Array | None, events: np.ndarray) -> np.ndarray:
    """Where neither of the columns is NULL."""
    valid = np.ones(len(events), np.bool_)
    for column in (first, second):
        known = None if column is None else validity(column)
        valid = valid if known is None else valid & known
    return valid


def _too_large() -> MillstreamError:
    return MillstreamError(
        "the collected values of one batch do not fit into 2 GB",
        hint="Make the window smaller, or SET batch_rows to a smaller number.",
    )


def listed(lists: pa.ListArray, parameter: str | float | None) -> pa.Array:
    return lists


def joined(lists: pa.ListArray, separator: str | float | None) -> pa.Array:
    return pc.binary_join(lists, str(separator))
