"""The last rows of every partition: an index that forgets those that later ones have driven out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.columns.keys import equal_rows, factorize, hashes_of
from millstream.state.index import Index, by_hash

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

    def of_partitions(
        self, keys: pa.RecordBatch, count: int | None = None
    ) -> tuple[Changes, np.ndarray]:
        """The rows of these partitions, and of which of them each is.

        `count` is how many partitions there are: keys without columns do not say it.
        """
        found, places = [], [np.zeros(0, np.int64)]
        count = keys.num_rows if count is None else count
        for rows, there, needle in self.search(hashes_of(keys.columns, count)):
            same = equal_rows(self._partitions(rows), there, keys, needle)
            found.append(rows.take(there[same]))
            places.append(needle[same])
        return Changes.concat(found, self.schema), np.concatenate(places)

    def with_more(self, rows: Changes, end: int) -> LastRows:
        return self.add(rows, hashes_of(self._partitions(rows).columns, len(rows)), end)

    def _partitions(self, rows: Changes) -> pa.RecordBatch:
        return rows.rows.select(list(self.partition_by))

    def _sorted(self, rows: Changes, end: int) -> Changes:
        rows = by_hash(rows, end)
        codes, first = factorize(self._partitions(rows).columns, len(rows))
        newest = np.zeros(len(first), np.int64)
        np.maximum.at(newest, codes, rows.weight)
        return rows.keep(leaves(rows.weight, self.count, self.slide) > newest[codes])
