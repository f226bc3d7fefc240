"""The newest rows of every partition, as lists: one for each partition in every chunk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever, no_rows, take_rows
from millstream.columns.followed import places_in
from millstream.columns.keys import equal_rows, factorize, flattened, hashes_of
from millstream.columns.order import group_order
from millstream.state.chunks import Chunk, Log
from millstream.state.index import HASH, Index, unhashed

SIZES = "#rows"
"""How many rows there are in the lists of a row."""


NO_FIELDS = pa.schema([])


class Found(NamedTuple):
    """Rows of some partitions: their values and numbers, and which of the partitions each has."""

    rows: pa.RecordBatch
    number: np.ndarray
    place: np.ndarray


@dataclass(frozen=True, eq=False)
class LastLists(Index):
    """The last rows of every partition, numbered from 1 in each.

    A row of a chunk has the key of a partition and, of each column, the values of the rows that it
    has there, which follow each other; its weight is the number of the last. So neither keys nor
    numbers nor hashes are kept of every row, and rows are put in order in one linear pass.
    Of the rows that come together in a chunk, those that later ones of their partition drive out of
    the last `count` are left out; others may still be found.
    """

    keys: pa.Schema = NO_FIELDS
    values: pa.Schema = NO_FIELDS
    count: int = 1

    @staticmethod
    def at(log: Log, keys: pa.Schema, values: pa.Schema, count: int) -> LastLists:
        lists = [pa.field(f"#{i}", pa.list_(field.type)) for i, field in enumerate(values)]
        schema = pa.schema([*keys, pa.field(SIZES, pa.int64()), *lists])
        return LastLists(log, schema, keys=keys, values=values, count=count)

    def numbered_within(self, keys: pa.RecordBatch, low: np.ndarray, high: np.ndarray) -> Found:
        """The rows of these partitions whose numbers are above `low` and at most `high`."""
        found, numbers, places = [], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for rows, there, needle in self.search(hashes_of(keys.columns, keys.num_rows)):
            same = equal_rows(self._keys(rows.rows), there, keys, needle)
            there, needle = there[same], needle[same]
            lists = Lists.of(rows, len(self.keys))
            first = np.maximum(lists.first[there], low[needle] + 1)
            sizes = np.minimum(rows.weight[there], high[needle]) - first + 1
            some = np.flatnonzero(sizes > 0)
            there, needle, first, sizes = there[some], needle[some], first[some], sizes[some]
            starts = lists.starts[there]
            here = places_in(starts + first - lists.first[there], sizes)
            found.append(pa.RecordBatch.from_arrays(lists.take(here), schema=self.values))
            numbers.append(here + np.repeat(lists.first[there] - starts, sizes))
            places.append(np.repeat(needle, sizes))
        rows = concat_rows(found or [no_rows(self.values)], self.values)
        return Found(rows, np.concatenate(numbers), np.concatenate(places))

    def with_more(
        self,
        keys: pa.RecordBatch,
        values: pa.RecordBatch,
        starts: np.ndarray,
        sizes: np.ndarray,
        last: np.ndarray,
        order: np.ndarray,
        end: int,
    ) -> LastLists:
        """With the values at `order[starts:starts + sizes]` of every one of some partitions, the
        last of which has the number `last`."""
        hashes = hashes_of(keys.columns, keys.num_rows)
        by_hash = np.argsort(hashes, kind="stable")
        here = order[places_in(starts[by_hash], sizes[by_hash])]
        lists = _lists([c.take(pa.array(here)) for c in values.columns], sizes[by_hash])
        rows = self._rows(take_rows(keys, by_hash), sizes[by_hash], lists, last[by_hash])
        return self.add(rows, hashes[by_hash], end)

    def _appended(self, log: Log, rows: Changes) -> Log:
        """A chunk counts the rows in its lists."""
        if len(rows) == 0:
            return log
        chunk = Chunk.of(rows, rows.exp)
        return Log(
            (*log.chunks, replace(chunk, rows=int(rows.rows.column(SIZES).to_numpy().sum())))
        )

    def _sorted(self, rows: Changes, end: int) -> Changes:
        """One row for each partition, in the order of their hashes."""
        plain, hashes = unhashed(rows, self.schema)
        keys = self._keys(plain.rows)
        codes, first = factorize(keys.columns, len(rows))
        by_hash = np.argsort(hashes[first], kind="stable")
        rank = np.empty(len(first), np.int64)
        rank[by_hash] = np.arange(len(first))
        order, starts = group_order(rank[codes], np.arange(len(rows)), len(first))
        lists = Lists.of(plain, len(self.keys))
        last = plain.weight[order[starts[1:] - 1]]
        lowest = np.repeat(last - self.count, np.diff(starts))
        dropped = np.clip(lowest - lists.first[order] + 1, 0, lists.sizes[order])
        here = places_in(lists.starts[order] + dropped, lists.sizes[order] - dropped)
        sizes = np.add.reduceat(lists.sizes[order] - dropped, starts[:-1])
        first = order[starts[:-1]]
        made = self._rows(take_rows(keys, first), sizes, _lists(lists.take(here), sizes), last)
        return made.with_rows(made.rows.append_column(HASH, pa.array(hashes[first])))

    def _rows(
        self, keys: pa.RecordBatch, sizes: np.ndarray, lists: list[pa.Array], last: np.ndarray
    ) -> Changes:
        columns = [*keys.columns, pa.array(sizes), *lists]
        none = np.zeros(len(sizes), np.int64)
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return Changes(batch, none, forever(len(none)), last, none)

    def _keys(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows.select(list(range(len(self.keys))))


@dataclass(frozen=True, eq=False)
class Lists:
    """The lists of some rows: their elements, and where those of each row lie."""

    elements: tuple[pa.Array, ...]
    starts: np.ndarray
    sizes: np.ndarray
    first: np.ndarray
    """The number of the first of every row."""

    @staticmethod
    def of(rows: Changes, width: int) -> Lists:
        """The lists of rows with keys of so many columns."""
        sizes = rows.rows.column(width).to_numpy()
        columns = rows.rows.columns[width + 1 :]
        elements = tuple(flattened(column)[0] for column in columns)
        return Lists(elements, np.cumsum(sizes) - sizes, sizes, rows.weight - sizes + 1)

    def take(self, here: np.ndarray) -> list[pa.Array]:
        return [column.take(pa.array(here)) for column in self.elements]


def _lists(columns: list[pa.Array], sizes: np.ndarray) -> list[pa.Array]:
    """Values as lists of these sizes."""
    ends = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=ends[1:])
    return [pa.ListArray.from_arrays(pa.array(ends), column) for column in columns]
