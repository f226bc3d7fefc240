"""Index: rows found by the hash of their key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.time import DAWN, INFINITY
from millstream.columns.hashed import hash_order, meetings, tuple_order
from millstream.columns.keys import equal_rows, hashes_of
from millstream.state.chunks import Chunk, Log

HASH = "#hash"
MOST_ALIKE = 4
"""So many chunks of about the same size are made one."""

SMALL = 1_024
"""Chunks of fewer rows are made one as soon as there are two: each of them has to be searched."""


@dataclass(frozen=True, eq=False)
class Index:
    """Rows by the hash of their key, in a few chunks sorted by it.

    Law: the sum of the chunks is the sum of what was added, less what has expired.
    Cost: rows are sorted into larger chunks as they grow old, each about log(rows) times; a search
    costs the needles, not the rows. Nothing happens when a row expires: it may lie on for a while.
    """

    log: Log
    schema: pa.Schema
    lazy: float = 0.5

    @classmethod
    def of(cls, log: Log | None, schema: pa.Schema, lazy: float = 0.5) -> Self:
        return cls(Log() if log is None else log, schema, lazy)

    def add(self, changes: Changes, hashes: np.ndarray, end: int) -> Self:
        """With more rows, without those that have expired by the end."""
        log = self._cleared(self.log.after(end), end)
        fresh = changes.exp > end
        if not fresh.all():
            changes, hashes = changes.keep(fresh), hashes[fresh]
        if len(changes) == 0:
            return replace(self, log=log)
        order = hash_order(hashes)
        if order is not None:
            changes, hashes = changes.take(order), hashes[order]
        log = self._appended(log, _hashed(changes, hashes))
        return replace(self, log=self._merged(log, end))

    def _cleared(self, log: Log, end: int) -> Log:
        """Chunks of whose time the share `lazy` has passed are written anew, without the rows that
        have expired."""
        chunks = []
        for chunk in log.chunks:
            ahead = chunk.last_due - chunk.first_due
            if ahead < INFINITY // 2 and end - chunk.first_due > self.lazy * ahead:
                rows = chunk.changes.keep(chunk.changes.exp > end)
                chunk = Chunk.of(rows, rows.exp)
            chunks.append(chunk)
        return Log(tuple(chunks))

    def _merged(self, log: Log, end: int) -> Log:
        """Make one of the newest chunks whenever there are several of about the same size."""
        chunks = log.chunks
        while (count := _mergeable(chunks)) > 1:
            every = Changes.concat(Log(chunks[-count:]).all(), self.hashed_schema)
            rows = self._sorted(every, end)
            if count == len(chunks):
                rows = rows.keep(rows.weight != 0)
            chunks = self._appended(Log(chunks[:-count]), rows).chunks
        return Log(chunks)

    def _appended(self, log: Log, rows: Changes) -> Log:
        return log.append(rows, rows.exp)

    def _sorted(self, rows: Changes, end: int) -> Changes:
        """In the order of their hashes, without rows that were retracted or have expired."""
        if (rows.weight > 0).all() and rows.seq.any():
            return by_hash(rows, end)
        if _is_constant(rows.seq) and _is_constant(rows.exp):
            return _summed(by_hash(rows, end))
        rows = rows.keep(rows.exp > end)
        hashes = rows.rows.column(HASH).to_numpy()
        return _summed(rows.take(tuple_order(hashes, rows.seq, rows.exp)))

    def rows(self) -> Changes:
        """All rows, added up."""
        every = Changes.concat(self.log.all(), self.hashed_schema)
        rows = self._sorted(every, DAWN) if len(every) else every
        return unhashed(rows.keep(rows.weight != 0), self.schema)[0]

    @property
    def hashed_schema(self) -> pa.Schema:
        return pa.schema([*self.schema, pa.field(HASH, pa.int64())])

    def search(self, hashes: np.ndarray) -> Iterator[tuple[Changes, np.ndarray, np.ndarray]]:
        """Rows with equal hashes: (rows, index into them, index of the needle), block by block."""
        order = hash_order(hashes)
        needles = hashes if order is None else hashes[order]
        for part in self.log.all():
            rows, known = unhashed(part, self.schema)
            for there, needle in meetings(known, needles):
                yield rows, there, needle if order is None else order[needle]


@dataclass(frozen=True, eq=False)
class Latest(Index):
    """An index in which a newer row takes the place of the older ones with the same key.

    The key is the first columns, `width` of them, or all. The newest is the row that was added
    last; the others may still be found. One of weight 0 says that there is none any more.
    """

    width: int | None = None

    def _keys(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        width = len(self.schema) if self.width is None else self.width
        return rows.select(list(range(width)))

    def newest(self, keys: pa.RecordBatch) -> Changes:
        """The rows of these keys, each of which is given once."""
        part_of, place = np.full(keys.num_rows, -1), np.zeros(keys.num_rows, np.int64)
        parts: list[Changes] = []
        for rows, there, needle in self.search(hashes_of(keys.columns, keys.num_rows)):
            same = equal_rows(self._keys(rows.rows), there, keys, needle)
            part_of[needle[same]], place[needle[same]] = len(parts), there[same]
            parts.append(rows)
        found = [part.take(place[part_of == number]) for number, part in enumerate(parts)]
        rows = Changes.concat(found, self.schema)
        return rows.keep(rows.weight != 0)

    def _sorted(self, rows: Changes, end: int) -> Changes:
        rows = by_hash(rows, end)
        hashes = rows.rows.column(HASH).to_numpy()
        followed = np.zeros(len(rows), np.bool_)
        followed[:-1] = hashes[1:] == hashes[:-1]
        twins = np.flatnonzero(followed)
        keys = self._keys(rows.rows)
        followed[twins] = equal_rows(keys, twins, keys, twins + 1)
        return rows.keep(~followed)


def _mergeable(chunks: tuple[Chunk, ...]) -> int:
    """How many chunks at the end are to be made one: all that are not of a larger size than the
    last, by powers of 4, once they are enough."""
    sizes = [max(chunk.rows, SMALL - 1).bit_length() // 2 for chunk in chunks]
    count = 0
    while count < len(sizes) and sizes[-count - 1] <= sizes[-1]:
        count += 1
    enough = 2 if chunks and chunks[-1].rows < SMALL else MOST_ALIKE
    return count if count >= enough else 0


def by_hash(rows: Changes, end: int) -> Changes:
    """Those that have not expired in the order of their hashes; equal ones as they were added."""
    alive = rows.exp > end
    order = hash_order(rows.rows.column(HASH).to_numpy())
    if order is None:
        return rows.keep(alive)
    return rows.take(order if alive.all() else order[alive[order]])


def _summed(rows: Changes) -> Changes:
    """Neighbours that are one tuple as one, with the sum of their weights; none of weight 0."""
    hashes = rows.rows.column(HASH).to_numpy()
    same = np.zeros(len(rows), np.bool_)
    same[1:] = (
        (hashes[1:] == hashes[:-1])
        & (rows.seq[1:] == rows.seq[:-1])
        & (rows.exp[1:] == rows.exp[:-1])
    )
    twins = np.flatnonzero(same)
    same[twins] = equal_rows(rows.rows, twins, rows.rows, twins - 1)
    first = np.flatnonzero(~same)
    sums = np.add.reduceat(rows.weight, first)
    latest = np.maximum.reduceat(rows.ts, first)
    kept = np.flatnonzero(sums)
    return replace(rows.take(first[kept]), weight=sums[kept], ts=latest[kept])


def _is_constant(values: np.ndarray) -> bool:
    return bool((values == values[0]).all())


def _hashed(changes: Changes, hashes: np.ndarray) -> Changes:
    column = pa.array(hashes)
    if changes.rows.num_columns == 0:
        return changes.with_rows(pa.RecordBatch.from_arrays([column], [HASH]))
    return changes.with_rows(changes.rows.append_column(HASH, column))


def unhashed(part: Changes, schema: pa.Schema) -> tuple[Changes, np.ndarray]:
    last = part.rows.num_columns - 1
    rows = part.rows.remove_column(last)
    if last == 0 or not rows.schema.equals(schema):
        rows = pa.RecordBatch.from_arrays(rows.columns, schema=schema)
    return part.with_rows(rows), part.rows.column(last).to_numpy()
