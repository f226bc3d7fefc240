"""Running aggregates over different values: sum(DISTINCT x) and the like."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate, Result, Sorting
from millstream.aggregates.entries import Entries, Slots
from millstream.aggregates.running import Running
from millstream.aggregates.totals import Total
from millstream.aggregates.values import Values
from millstream.columns.collection import weights_once
from millstream.columns.keys import validity
from millstream.columns.trace import Trace

SUFFIX = "_distinct"
"""What is added to the name of an aggregate that takes equal values once."""


def once(aggregate: Aggregate, way: Values) -> Aggregate:
    """The aggregate that takes equal values once, by a way of its own; values are in order."""
    return replace(
        aggregate,
        name=aggregate.name + SUFFIX,
        of=aggregate.name,
        way=way,
        aliases=(),
        sorting=Sorting.VALUE,
        ignores_copies=True,
        combines=None,
    )


def with_distinct(aggregate: Aggregate) -> Aggregate:
    """A running aggregate that can also take equal values once."""
    assert isinstance(aggregate.way, Running)
    way = Distinct(aggregate.way, aggregate.result)
    return replace(aggregate, once=once(aggregate, way))


@dataclass(frozen=True)
class Distinct:
    """A running aggregate in which every value counts once, as long as it is present at all."""

    running: Running
    result: Result
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
        parameter: str | float | None,
    ) -> tuple[pa.Array, Entries]:
        """The result for every row of the trace, and the values present at the end."""
        known = validity(values)
        valid = np.ones(len(values), np.bool_) if known is None else known
        slots = Slots.of(present, values, by, groups, group_count, valid)
        weighed = weights_once(trace.event, weights, valid, slots.slots, slots.counts)
        before = len(present.count)
        every = _from_the_beginning(trace, present.group)
        moved = np.concatenate([np.ones(before, np.int64), weighed])
        results = []
        for total in self.running.totals(values.type):
            sums = _sums(total, every, moved, slots.every, group_count)
            results.append(tuple(part[: len(trace)] for part in sums))
        kind = self.result(values.type)
        assert kind is not None, "the binder has asked for the type"
        result = self.running.finish(results[0][0], results[-1], values.type, kind)
        return result, slots.left()


def _sums(
    total: Total, trace: Trace, weights: np.ndarray, values: pa.Array, group_count: int
) -> tuple[np.ndarray, ...]:
    """The values of a total in every row, beginning with none."""
    columns: list[np.ndarray] = [np.zeros(group_count, kind) for kind in total.columns]
    return total.run(trace, weights, values, columns)


def _from_the_beginning(trace: Trace, present: np.ndarray) -> Trace:
    """The trace after events that bring in what is present; those write a row behind the others."""
    count = len(present)
    before = np.arange(count, dtype=np.int32)
    spare = np.full(count, len(trace), np.int32)
    return replace(
        trace,
        event=np.concatenate([before, trace.event + np.int32(count)]),
        group=np.concatenate([present.astype(np.int32), trace.group]),
        row=np.concatenate([spare, trace.row]),
        ts=np.append(trace.ts, 0),
    )
