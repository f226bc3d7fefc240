"""The last rows of partitions against a list of all rows, also where partitions share a hash."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.changes import Changes, forever
from millstream.columns.keys import hashes_of
from millstream.state import last_rows
from millstream.state.chunks import Log
from millstream.state.last_rows import LastRows

SCHEMA = pa.schema([("key", pa.int64()), ("x", pa.int64())])
KEYS, COUNT = 12, 5


def few_hashes(arrays, length):
    """Several partitions of a hash."""
    return hashes_of(arrays, length) % 3


def batch_of(keys: np.ndarray, x: np.ndarray) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(keys), pa.array(x)], schema=SCHEMA)


@pytest.mark.parametrize("hashed", [hashes_of, few_hashes])
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_found_by_partition_and_number(seed, hashed, monkeypatch):
    monkeypatch.setattr(last_rows, "hashes_of", hashed)
    random = np.random.default_rng(seed)
    index = LastRows(Log(), SCHEMA, 0.5, ("key",), COUNT)
    numbers, held = np.zeros(KEYS, np.int64), {}
    every = batch_of(np.arange(KEYS), np.zeros(KEYS, np.int64)).select(["key"])
    for step in range(60):
        keys = random.integers(0, KEYS, int(random.integers(1, 90)))
        number, x = np.empty(len(keys), np.int64), random.integers(0, 1000, len(keys))
        for i, key in enumerate(keys.tolist()):
            numbers[key] += 1
            number[i] = numbers[key]
            held[key, int(number[i])] = int(x[i])
        none = np.zeros(len(keys), np.int64)
        rows = Changes(batch_of(keys, x), none, forever(len(keys)), number, none)
        index = index.with_more(rows.take(random.permutation(len(keys))), step)
        low = numbers - random.integers(0, COUNT + 1, KEYS)
        high = low + random.integers(-1, COUNT, KEYS)
        there, places = index.numbered_within(every, low, high)
        columns = there.rows.column(0), there.rows.column(1)
        found = list(zip(*(c.to_pylist() for c in columns), there.weight.tolist()))
        assert [key for key, _, _ in found] == places.tolist()
        assert sorted(found) == sorted(
            (key, held[key, n], n)
            for key in range(KEYS)
            for n in range(max(int(low[key]), 0) + 1, int(min(high[key], numbers[key])) + 1)
        )
