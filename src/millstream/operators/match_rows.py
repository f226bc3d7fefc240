"""The rows that a search sees: those it has kept, and those that come, by partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import Changes, concat_rows, forever, take_rows
from millstream.columns.keys import equal_rows, hashes_of
from millstream.columns.order import group_order
from millstream.patterns.references import shifted_name
from millstream.patterns.scene import with_shifts
from millstream.state.chunks import Log, Part
from millstream.state.index import Index
from millstream.state.ordered_run import OrderedRun


@dataclass(frozen=True, eq=False)
class PartitionRows:
    """Rows partition by partition, each in the order of time, with their places in the stream.

    Those of partition p lie from `starts[p]` to `starts[p + 1]`, the new ones from `fresh[p]`.
    """

    rows: pa.RecordBatch
    starts: np.ndarray
    fresh: np.ndarray
    position: np.ndarray
    ts: np.ndarray
    is_new: np.ndarray
    order: np.ndarray
    arrived: np.ndarray
    """The arrival of the rows before they were put in this order."""

    def arrival(self, at: np.ndarray) -> np.ndarray:
        """When the rows that lie there arrived."""
        return self.arrived[self.order[at]]

    def at(self, position: np.ndarray) -> np.ndarray:
        """Where the rows with these places lie."""
        order = np.argsort(self.position, kind="stable")
        return order[np.searchsorted(self.position[order], position)]


@dataclass(frozen=True)
class SearchRows:
    """The columns that a search reads, and the rows that it keeps between steps.

    A row has the columns `plain`, and those of `shifts` as they are some tuples before it. It is
    kept as long as the search needs it, or the tuples after it read from it.
    State: an index of rows by partition, known by their places in the stream.
    Cost: the rows of the partitions that a step brings.
    """

    given: pa.Schema
    partition_by: tuple[str, ...]
    plain: frozenset[str]
    shifts: frozenset[tuple[str, int]]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that are read, but for those of the partition."""
        read = self.plain - set(self.partition_by)
        return tuple(name for name in self.given.names if name in read)

    @cached_property
    def _shifts(self) -> tuple[tuple[str, int], ...]:
        return tuple(sorted(self.shifts))

    @cached_property
    def _plain_schema(self) -> pa.Schema:
        return pa.schema([self.given.field(n) for n in (*self.partition_by, *self.columns)])

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the rows: the partition first."""
        more = [pa.field(shifted_name(n, by), self.given.field(n).type) for n, by in self._shifts]
        return pa.schema([*self._plain_schema, *more])

    @property
    def _back(self) -> int:
        """How many tuples before it a row reads."""
        return max((-by for _, by in self.shifts), default=0)

    def _index(self, part: Part | None) -> Index:
        assert part is None or isinstance(part, Log)
        return Index.of(part, self.schema)

    def gathered(
        self, part: Part | None, run: OrderedRun, touched: np.ndarray, seen: int
    ) -> PartitionRows:
        """The rows of the partitions that the step has touched; `seen` rows came before it."""
        rank = np.zeros(run.partitions, np.int64)
        rank[touched] = np.arange(len(touched))
        old, of_old = self._found(part, take_rows(run.keys, touched), len(touched))
        count = len(run.arrivals)
        of_new = rank[run.partition[:count]]
        partition = np.concatenate([of_old, of_new])
        by_place = np.concatenate([np.argsort(old.seq), np.arange(len(old), len(partition))])
        order, starts = group_order(partition, by_place, len(touched))
        olds = np.bincount(of_old, minlength=len(touched))
        rows = self._with_shifts(old, run.arrivals, order, starts)
        return PartitionRows(
            rows,
            starts,
            starts[:-1] + olds,
            _places(old.seq, order, seen + 1),
            np.concatenate([old.ts, run.arrivals.ts])[order],
            order >= len(old),
            order,
            np.concatenate([np.zeros(len(old), np.int64), run.arrivals.seq]),
        )

    def kept(self, part: Part | None, seen: PartitionRows, needed: np.ndarray, end: int) -> Log:
        """What is kept after a step: what the search needs, and the last rows of partitions."""
        needed = needed.copy()
        for back in range(1, self._back + 1):
            last = seen.starts[1:] - back
            needed[last[last >= seen.starts[:-1]]] = True
        moved = np.flatnonzero(needed == seen.is_new)
        weight = np.where(needed[moved], 1, -1)
        rows = Changes(
            take_rows(seen.rows, moved),
            seen.ts[moved],
            forever(len(moved)),
            weight,
            seen.position[moved],
        )
        hashes = hashes_of(self._keys(rows.rows).columns, len(moved))
        return self._index(part).add(rows, hashes, end).log

    def _keys(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows.select(list(range(len(self.partition_by))))

    def _found(
        self, part: Part | None, keys: pa.RecordBatch, count: int
    ) -> tuple[Changes, np.ndarray]:
        """The rows that are kept of some partitions, and the partition of each."""
        parts, places = [], [np.zeros(0, np.int64)]
        for rows, there, needle in self._index(part).search(hashes_of(keys.columns, count)):
            same = equal_rows(self._keys(rows.rows), there, keys, needle)
            parts.append(rows.take(there[same]))
            places.append(needle[same])
        every, place = Changes.concat(parts, self.schema), np.concatenate(places)
        if (every.weight > 0).all():
            return every, place
        _, first, inverse = np.unique(every.seq, return_index=True, return_inverse=True)
        left = np.bincount(inverse, weights=every.weight, minlength=len(first)) > 0
        return every.take(first[left]), place[first[left]]

    def _with_shifts(
        self, old: Changes, new: Changes, order: np.ndarray, starts: np.ndarray
    ) -> pa.RecordBatch:
        """Old and new rows in their order. Old ones have what they read of others already, whose
        rows may be gone."""
        schema, names = self._plain_schema, self._plain_schema.names
        sides = [old.rows.select(names), new.rows.select(names)]
        plain = take_rows(concat_rows(sides, schema), order)
        if not self._shifts:
            return plain
        every = with_shifts(plain, starts, self._shifts)
        if len(old):
            is_old = order < len(old)
            mask, there = pa.array(is_old), pa.array(order[is_old])
            columns = [
                pc.replace_with_mask(every.column(name), mask, old.rows.column(name).take(there))
                for name in self.schema.names[len(names) :]
            ]
            return pa.RecordBatch.from_arrays([*plain.columns, *columns], schema=self.schema)
        return pa.RecordBatch.from_arrays(every.columns, schema=self.schema)


def _places(old: np.ndarray, order: np.ndarray, first: int) -> np.ndarray:
    """The places in the stream of rows in an order: old ones know theirs, and come before the new
    ones, which are numbered from the first on."""
    found = order + (first - len(old))
    is_old = np.flatnonzero(order < len(old))
    found[is_old] = old[order[is_old]]
    return found
