"""The index of rows by hash against a list of all rows, however it grows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.changes import Changes
from millstream.columns.keys import hashes_of
from millstream.state.index import Index, Latest

SCHEMA = pa.schema([("key", pa.int64())])


def rows_of(keys, ts, exp, weight, seq):
    rows = pa.RecordBatch.from_arrays([pa.array(keys, pa.int64())], schema=SCHEMA)
    return Changes(rows, *(np.asarray(c, np.int64) for c in (ts, exp, weight, seq)))


def found(index, keys):
    """What a search gives for keys: the sum of weights of every tuple."""
    sums: Counter = Counter()
    needles = hashes_of([pa.array(keys, pa.int64())], len(keys))
    for rows, there, needle in index.search(needles):
        for i, n in zip(there.tolist(), needle.tolist()):
            key = rows.rows.column(0)[i].as_py()
            assert key == keys[n]
            sums[key, int(rows.exp[i]), int(rows.seq[i])] += int(rows.weight[i])
    return {k: v for k, v in sums.items() if v}


@pytest.mark.parametrize("seed", range(6))
def test_a_search_finds_what_was_added_and_has_not_expired_or_been_taken_back(seed):
    random = np.random.default_rng(seed)
    index, held = Index.of(None, SCHEMA), Counter()
    for step in range(40):
        count = int(random.integers(1, 30))
        keys = random.integers(0, 15, count)
        exp = step + random.integers(1, 12, count)
        seq = 100 * step + np.arange(count)
        added = [(int(k), int(e), int(s), 1) for k, e, s in zip(keys, exp, seq)]
        back = [(*k, -1) for k, w in held.items() if w > 0 and random.random() < 0.2]
        every = [*added, *back]
        columns = list(zip(*every))
        changes = rows_of(columns[0], [step] * len(every), columns[1], columns[3], columns[2])
        index = index.add(changes, hashes_of(changes.rows.columns, len(changes)), step)
        for key, end, number, weight in every:
            held[key, end, number] += weight
        held = Counter({k: w for k, w in held.items() if w and k[1] > step})
        alive = {k: w for k, w in found(index, list(range(15))).items() if k[1] > step}
        assert alive == dict(held)
    assert len(index.log.chunks) < 20


def test_the_newest_of_equal_values_is_found_last():
    index, newest = Latest.of(None, SCHEMA), {}
    for step in range(30):
        keys = [step % 7, 7 + step % 3]
        index = index.add(
            rows_of(keys, [step] * 2, [1000 + step] * 2, [1, 1], [0, 0]),
            hashes_of([pa.array(keys, pa.int64())], 2),
            step,
        )
        newest.update(dict.fromkeys(keys, 1000 + step))
        last = {}
        needles = list(range(10))
        for rows, there, needle in index.search(hashes_of([pa.array(needles)], 10)):
            last.update(zip(needle.tolist(), rows.exp[there].tolist()))
        assert last == newest
