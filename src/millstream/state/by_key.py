"""Rows by key: one row of each, or a bag of rows. A step touches the rows of some keys.

Few rows, or rows of which a step touches most, are a table, which is read and written whole. Many
rows are an index: only the keys that are asked for are read, and only changed rows are written.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever, no_rows, take_rows
from millstream.algebra.time import DAWN
from millstream.columns.keys import equal_rows, factorize, hashes_of
from millstream.state.chunks import Log, Part
from millstream.state.index import Index, Latest

MUCH = 32_768
"""Up to so many rows are a table."""

RARELY, OFTEN = 8, 4
"""An index begins to pay when a step touches an eighth of the rows, and a table when a quarter."""


@dataclass(frozen=True, eq=False)
class ByKey:
    """Rows whose first columns, `width` of them, are a key; up to `much` of them are a table, or
    MUCH."""

    part: Part | None
    schema: pa.Schema
    width: int
    much: int | None = None

    @property
    def is_much(self) -> bool:
        return isinstance(self.part, Log)

    @property
    def table(self) -> pa.RecordBatch:
        """What is little."""
        assert not isinstance(self.part, Log)
        return no_rows(self.schema) if self.part is None else self.part

    @property
    def _log(self) -> Log:
        return self.part if isinstance(self.part, Log) else Log()

    def _keys(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows.select(list(range(self.width)))

    @property
    def _most(self) -> int:
        return MUCH if self.much is None else self.much

    def _stays_table(self, rows: int, changed: int) -> bool:
        """Without key columns, all rows belong to one key."""
        return rows <= self._most or self.width == 0 or changed * RARELY > rows

    def _stays_index(self, rows: int, changed: int) -> bool:
        return rows > self._most // 4 and changed * OFTEN <= rows

    def _different(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        return take_rows(keys, factorize(keys.columns, keys.num_rows)[1])


@dataclass(frozen=True, eq=False)
class RowByKey(ByKey):
    """One row of every key."""

    def rows(self) -> pa.RecordBatch:
        return self._index.rows().rows if self.is_much else self.table

    def touched(self, keys: pa.RecordBatch, instant: int = DAWN) -> pa.RecordBatch:
        """The rows of some keys that have not expired; all rows where they are few."""
        if not self.is_much:
            return self.table
        found = self._index.newest(self._different(keys))
        return found.keep(found.exp > instant).rows

    def after(
        self,
        gone: pa.RecordBatch,
        now: pa.RecordBatch,
        changed: int,
        until: np.ndarray | None = None,
        end: int = DAWN,
    ) -> Part:
        """With rows `now` in the place of those that were touched; those `gone` have none.

        `changed` is how many rows the step has changed. `until` is when rows expire, if they do:
        rows that have expired by the end are dropped, sooner or later.
        """
        if not self.is_much and self._stays_table(now.num_rows, changed):
            return now
        until = forever(now.num_rows) if until is None else until
        grown = self._grown(gone if self.is_much else gone.slice(0, 0), now, until, end)
        if self._stays_index(grown.log.rows, changed):
            return grown.log
        left = grown.rows()
        return left.keep(left.exp > end).rows

    @property
    def _index(self) -> Latest:
        return Latest(self._log, self.schema, width=self.width)

    def _grown(
        self, gone: pa.RecordBatch, now: pa.RecordBatch, until: np.ndarray, end: int
    ) -> Latest:
        rows = concat_rows([gone, now], self.schema)
        none = np.zeros(rows.num_rows, np.int64)
        weight = (np.arange(len(none)) >= gone.num_rows).astype(np.int64)
        exp = np.concatenate([forever(gone.num_rows), until])
        hashes = hashes_of(self._keys(rows).columns, len(none))
        return self._index.add(Changes(rows, none, exp, weight, none), hashes, end)


@dataclass(frozen=True, eq=False)
class BagByKey(ByKey):
    """A bag of rows of every key: the last column says how often a row is there."""

    def touched(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of some keys; all rows where they are few."""
        if not self.is_much:
            return self.table
        wanted, found = self._different(keys), []
        for rows, there, needle in self._index.search(hashes_of(wanted.columns, wanted.num_rows)):
            same = equal_rows(self._keys(rows.rows), there, wanted, needle)
            found.append(rows.take(there[same]))
        every = Changes.concat(found, self._bare)
        return self._counted(every.rows, every.weight)

    def after(
        self, before: pa.RecordBatch, now: pa.RecordBatch, changed: int, beside_index: bool
    ) -> Part:
        """With rows `now` in the place of those that were touched.

        `changed` is how many rows belong to keys that the step has changed. Beside an index of
        keys it is an index itself, since a table would need all keys to be known.
        """
        if not self.is_much and not beside_index and self._stays_table(now.num_rows, changed):
            return now
        if not self.is_much:
            before = before.slice(0, 0)
        rows = concat_rows([before, now], self.schema)
        counts = rows.column(rows.num_columns - 1).to_numpy().copy()
        counts[: before.num_rows] *= -1
        moved = self._counted(rows.select(list(range(len(self._bare)))), counts)
        index = self._grown(moved)
        if beside_index or self._stays_index(index.log.rows, changed):
            return index.log
        every = index.rows()
        return self._counted(every.rows, every.weight)

    @property
    def _bare(self) -> pa.Schema:
        """The columns but the count."""
        return pa.schema(list(self.schema)[:-1])

    @property
    def _index(self) -> Index:
        return Index(self._log, self._bare)

    def _counted(self, rows: pa.RecordBatch, counts: np.ndarray) -> pa.RecordBatch:
        """Every row once, with the sum of its counts; none whose sum is 0."""
        codes, first = factorize(rows.columns, len(counts))
        sums = np.zeros(len(first), np.int64)
        np.add.at(sums, codes, counts)
        kept = np.flatnonzero(sums)
        columns = take_rows(rows, first[kept]).columns
        return pa.RecordBatch.from_arrays([*columns, pa.array(sums[kept])], schema=self.schema)

    def _grown(self, moved: pa.RecordBatch) -> Index:
        rows, count = moved.select(list(range(len(self._bare)))), moved.num_rows
        hashes = hashes_of(self._keys(rows).columns, count)
        values = hashes_of(rows.columns[self.width :], count)
        weight = moved.column(moved.num_columns - 1).to_numpy()
        none = np.zeros(count, np.int64)
        return self._index.add(Changes(rows, none, forever(count), weight, values), hashes, DAWN)
