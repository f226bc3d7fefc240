"""The ordered run: the events of a step by partition and time, with a slot of state for each.

Whoever follows the rows of partitions through time stands on it: groups, windows by rows, and
programs that take one event after the other (see `program.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, take_rows
from millstream.columns.followed import numbered_by_group
from millstream.columns.interleave import interleaved, turns_in
from millstream.columns.keys import factorize
from millstream.columns.order import canonical_order, is_strictly_sorted


class Order(NamedTuple):
    """The order in which a program takes events: partition by partition, each in time.

    Events have numbers: those below `arrivals` arrive, the others leave. `event` lists them in
    order; those of partition p lie from `starts[p]` to `starts[p + 1]`. `instant` is when an event
    happens, by its number. Native code can read it.
    """

    event: np.ndarray
    starts: np.ndarray
    instant: np.ndarray
    arrivals: int


@dataclass(frozen=True, eq=False)
class InTime:
    """The same for programs that keep all partitions at hand: events as they happen (`sequence`),
    with the partition of each by its number. They are sorted by partition when that is asked for.

    `turns` says before which arrival each of those that leave does so.
    """

    partition: np.ndarray
    turns: np.ndarray
    instant: np.ndarray
    arrivals: int
    partitions: int

    @property
    def sequence(self) -> np.ndarray:
        if len(self.turns) == 0:
            return np.arange(self.arrivals)
        together = np.zeros(len(self.partition), np.int64)
        return interleaved(together, self.turns, self.arrivals, 1)[0]

    @property
    def event(self) -> np.ndarray:
        return self.order.event

    @property
    def starts(self) -> np.ndarray:
        return self.order.starts

    @cached_property
    def order(self) -> Order:
        event, starts = interleaved(self.partition, self.turns, self.arrivals, self.partitions)
        return Order(event, starts, self.instant, self.arrivals)


@dataclass(frozen=True, eq=False)
class Numbered:
    """Arrivals by partition, then time, each with its partition and its number there.

    They are those `given`, in the order `event`: their number among the events. `after` is how many
    every partition has had by now; those of partition p start at `starts[p]`.
    """

    given: Changes
    event: np.ndarray
    partition: np.ndarray
    number: np.ndarray
    after: np.ndarray
    starts: np.ndarray

    @cached_property
    def arrivals(self) -> Changes:
        return self.given if len(self.after) == 1 else self.given.take(self.event)

    @property
    def newest(self) -> np.ndarray:
        """When the newest arrival of every partition that has any came."""
        stops = self.starts[1:]
        return self.arrivals.ts[stops[stops > self.starts[:-1]] - 1]


@dataclass(frozen=True, eq=False)
class OrderedRun:
    """What arrives and what leaves in one step, each in the order of time, by partition.

    Events are numbered: first the arrivals, then those that leave (at their exp). `partition` is
    that of every event. The partitions that were known before, `known` of them, have the first
    numbers, in the order of their rows; `keys` are the keys of all.

    Law: a program that takes the events in `order` sees of every partition the same sequence,
    however time is cut into steps: what leaves at an instant comes before what arrives at it; what
    leaves or arrives together comes in the order in which it was handed in.
    Cost: the events and the partitions handed in, each once.
    """

    arrivals: Changes
    ends: Changes
    partition: np.ndarray
    keys: pa.RecordBatch
    known: int
    partitions: int
    turns: np.ndarray | None = None

    @staticmethod
    def of(
        known: pa.RecordBatch,
        names: Sequence[str],
        arrivals: Changes,
        ends: Changes,
        turns: np.ndarray | None = None,
    ) -> OrderedRun:
        """The run over arrivals, sorted by ts, and what leaves, sorted by exp.

        `names` are the columns that make a partition; `known` has a row for each that is known, at
        least of those with events. `turns` says before which arrival each of the ends leaves, if
        that does not follow from its instant: in a window by rows, a row is driven out by another.
        """
        names = list(names)
        sides = [known.select(names), arrivals.rows.select(names), ends.rows.select(names)]
        both = concat_rows(sides, sides[0].schema)
        length = known.num_rows + len(arrivals) + len(ends)
        codes, first = factorize(both.columns, length)
        return OrderedRun(
            arrivals,
            ends,
            codes[known.num_rows :],
            take_rows(both, first),
            known.num_rows,
            len(first) if names else 1,
            turns,
        )

    def __len__(self) -> int:
        return len(self.partition)

    @cached_property
    def instants(self) -> np.ndarray:
        """When every event happens."""
        if len(self.ends) == 0:
            return self.arrivals.ts
        return np.concatenate([self.arrivals.ts, self.ends.exp])

    @cached_property
    def weights(self) -> np.ndarray:
        """What every event adds to how often its row is there."""
        return np.concatenate([self.arrivals.weight, -self.ends.weight])

    @cached_property
    def touched(self) -> np.ndarray:
        """Which partitions have events."""
        touched = np.zeros(self.partitions, np.bool_)
        touched[self.partition] = True
        return touched

    @cached_property
    def touched_keys(self) -> pa.RecordBatch:
        return take_rows(self.keys, np.flatnonzero(self.touched))

    @cached_property
    def order(self) -> Order:
        """The events as a program takes them."""
        return self.in_time.order

    @cached_property
    def in_time(self) -> InTime:
        """The events as they happen."""
        turns, arrivals = self.leaving_before, len(self.arrivals)
        return InTime(self.partition, turns, self.instants, arrivals, self.partitions)

    @cached_property
    def leaving_before(self) -> np.ndarray:
        """Before which arrival each of those that leave does so."""
        return turns_in(self.arrivals.ts, self.ends.exp) if self.turns is None else self.turns

    def numbered(self, before: np.ndarray) -> Numbered:
        """The arrivals with their numbers; `before` is how many every partition has had so far."""
        partition = self.partition[: len(self.arrivals)]
        if self.partitions == 1:  # they lie in order already
            here = np.arange(len(partition))
            starts = np.array([0, len(partition)])
            return Numbered(
                self.arrivals, here, partition, before[0] + 1 + here, before + len(here), starts
            )
        event, starts, partition, number = numbered_by_group(partition, before)
        after = before + np.diff(starts)
        return Numbered(self.arrivals, event, partition, number, after, starts)

    def slot(self, known: pa.RecordBatch, name: str, new: float = 0) -> np.ndarray:
        """A column of what is known, by partition; new ones have a value. Free to be changed."""
        column = known.column(name).to_numpy(zero_copy_only=False)
        out = np.full(self.partitions, new, column.dtype)
        out[: len(column)] = column
        return out

    def column(self, name: str) -> pa.Array:
        """A column of the events, put together when it is first asked for."""
        if name not in self._columns:
            parts = [part.rows.column(name) for part in (self.arrivals, self.ends)]
            self._columns[name] = pa.concat_arrays(parts)
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, pa.Array]:
        return {}

    def partition_of(self, keys: pa.RecordBatch, length: int) -> np.ndarray:
        """The partition of every row of a table of keys, all of which are known."""
        if keys.num_columns == 0:
            return np.zeros(length, np.int64)
        both = concat_rows([self.keys, keys], self.keys.schema)
        return factorize(both.columns, both.num_rows)[0][self.keys.num_rows :]


def keys_of(names: Sequence[str], arrivals: Changes, ends: Changes) -> pa.RecordBatch:
    """The keys of everything that arrives or leaves."""
    if len(ends) == 0:
        return arrivals.rows.select(list(names))
    sides = [side.rows.select(list(names)) for side in (arrivals, ends)]
    return concat_rows(sides, sides[0].schema)


def single(changes: Changes) -> Changes:
    """Every element once, with weight 1."""
    if (changes.weight == 1).all():
        return changes
    return replace(
        changes.take(np.repeat(np.arange(len(changes)), changes.weight)),
        weight=np.ones(int(changes.weight.sum()), np.int64),
    )


def in_order_of_arrival(changes: Changes) -> Changes:
    """Sorted by ts, then arrival; rows that are equal in both, by their values."""
    arrival = changes.arrival
    if is_strictly_sorted(changes.ts, arrival):
        return changes
    return changes.take(canonical_order([changes.ts, arrival], changes.rows))


def in_order_of_leaving(ends: Changes) -> Changes:
    """Sorted by exp, those that leave together as they arrived: the oldest first."""
    return ends.take(canonical_order([ends.exp, ends.ts, ends.arrival], ends.rows))
