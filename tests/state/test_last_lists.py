"""The last rows of partitions in lists against a list of all rows, also where hashes are shared."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millstream.columns.followed import numbered_by_group
from millstream.columns.keys import hashes_of
from millstream.state import last_lists
from millstream.state.chunks import Log
from millstream.state.last_lists import LastLists

KEYED = pa.schema([("key", pa.string())])
VALUES = pa.schema([("x", pa.int64()), ("s", pa.string())])
KEYS, COUNT = 12, 5


def few_hashes(arrays, length):
    """Several partitions of a hash."""
    return hashes_of(arrays, length) % 3


def values_of(x: np.ndarray) -> pa.RecordBatch:
    columns = [pa.array(x, mask=x % 7 == 0), pa.array([f"s{v}" for v in x.tolist()])]
    return pa.RecordBatch.from_arrays(columns, schema=VALUES)


@pytest.mark.parametrize("hashed", [hashes_of, few_hashes])
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_found_by_partition_and_number(seed, hashed, monkeypatch):
    monkeypatch.setattr(last_lists, "hashes_of", hashed)
    random = np.random.default_rng(seed)
    lists = LastLists.at(Log(), KEYED, VALUES, COUNT)
    numbers, held = np.zeros(KEYS, np.int64), {}
    every = pa.record_batch([pa.array([f"k{i}" for i in range(KEYS)])], schema=KEYED)
    for step in range(60):
        groups = random.integers(0, KEYS, int(random.integers(1, 90)))
        x = random.integers(0, 1000, len(groups))
        order, starts, group, number = numbered_by_group(groups, numbers)
        held |= {
            (g, n): (None if v % 7 == 0 else v, f"s{v}")
            for g, n, v in zip(group.tolist(), number.tolist(), x[order].tolist())
        }
        numbers += np.diff(starts)
        stays = np.minimum(np.diff(starts), COUNT)
        some = np.flatnonzero(stays)
        first = (starts[1:] - stays)[some]
        lists = lists.with_more(
            every.take(pa.array(some)), values_of(x), first, stays[some], numbers[some], order, step
        )
        assert lists.log.rows <= 60 * 90 and len(lists.log.chunks) <= 4
        low = numbers - random.integers(0, COUNT + 1, KEYS)
        high = low + random.integers(-1, COUNT, KEYS)
        found = lists.numbered_within(every, low, high)
        columns = (column.to_pylist() for column in found.rows.columns)
        there = zip(found.place.tolist(), found.number.tolist(), zip(*columns))
        assert sorted(there, key=lambda row: row[:2]) == [
            (key, n, held[key, n])
            for key in range(KEYS)
            for n in range(max(int(low[key]), 0) + 1, int(min(high[key], numbers[key])) + 1)
        ]


def test_rows_that_others_drive_out_are_dropped_when_chunks_become_one():
    one = pa.record_batch([pa.array(["k"])], schema=KEYED)
    lists = LastLists.at(Log(), KEYED, VALUES, COUNT)
    for step in range(1, 100):
        x, one_each = np.array([step]), np.array([1])
        none = np.array([0])
        lists = lists.with_more(one, values_of(x), none, one_each, np.array([step]), none, step)
        assert lists.log.rows <= COUNT + 1
