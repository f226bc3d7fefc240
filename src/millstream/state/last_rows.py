"""The last rows of every partition: an index that forgets those that later ones have driven out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.columns.hashed import hash_order, meetings_within, tuple_order
from millstream.columns.keys import equal_rows, factorize, hashes_of
from millstream.state.index import HASH, Index, unhashed

EVER = 2**61
"""A count that no stream reaches: the window of `[Rows Unbounded Slide L]`."""


def leaves(numbers: np.ndarray, count: int, slide: int) -> np.ndarray:
    """The number of the tuple with which each is no longer needed: it leaves a window of so many
    tuples, or, if it never does, it has entered.

    >>> leaves(np.array([1, 2, 3]), 2, 1).tolist(), leaves(np.array([1, 2, 3]), 2, 4).tolist()
    ([3, 4, 5], [4, 4, 8])
    """
    last = numbers if count >= EVER else numbers + count
    return -(-last // slide) * slide


@dataclass(frozen=True, eq=False)
class LastRows(Index):
    """Numbered rows by partition. The number is the weight.

    Of the rows that come together in a chunk, those that later ones of their partition drive out
    are left out; others may still be found.
    """

    partition_by: tuple[str, ...] = ()
    count: int = 1
    slide: int = 1

    def numbered_within(
        self, keys: pa.RecordBatch, low: np.ndarray, high: np.ndarray
    ) -> tuple[Changes, np.ndarray]:
        """The rows of these partitions whose numbers are above `low` and at most `high`, and of
        which of them each is. Only these are looked at, however many a partition has."""
        hashes = hashes_of(keys.columns, len(low))
        order = hash_order(hashes)
        order = np.arange(len(hashes)) if order is None else order
        found, places = [], [np.zeros(0, np.int64)]
        for part in self.log.all():
            known = part.rows.column(HASH).to_numpy()
            there, at = meetings_within(known, part.weight, hashes[order], low[order], high[order])
            rows, needle = unhashed(part.take(there), self.schema)[0], order[at]
            same = equal_rows(self._partitions(rows), np.arange(len(rows)), keys, needle)
            found.append(rows.keep(same))
            places.append(needle[same])
        return Changes.concat(found, self.schema), np.concatenate(places)

    def with_more(self, rows: Changes, end: int) -> LastRows:
        hashes = hashes_of(self._partitions(rows).columns, len(rows))
        order = tuple_order(hashes, rows.weight, rows.exp)
        return self.add(rows.take(order), hashes[order], end)

    def _partitions(self, rows: Changes) -> pa.RecordBatch:
        return rows.rows.select(list(self.partition_by))

    def _sorted(self, rows: Changes, end: int) -> Changes:
        """In the order of their hashes, then their numbers."""
        rows = rows.keep(rows.exp > end)
        hashes = rows.rows.column(HASH).to_numpy()
        rows = rows.take(tuple_order(hashes, rows.weight, rows.exp))
        codes, first = factorize(self._partitions(rows).columns, len(rows))
        newest = np.zeros(len(first), np.int64)
        np.maximum.at(newest, codes, rows.weight)
        return rows.keep(leaves(rows.weight, self.count, self.slide) > newest[codes])
