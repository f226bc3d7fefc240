"""Rows in parts are those of one batch in the order of time, however the parts lie."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.changes import Changes
from millstream.algebra.time import Span
from millstream.engine.in_parts import InParts

SCHEMA = pa.schema([("x", pa.int64())])


def part(random: np.random.Generator, ts: np.ndarray, seq: np.ndarray) -> Changes:
    x = pa.array(random.integers(0, 99, len(ts)))
    return Changes.elements(pa.RecordBatch.from_arrays([x], schema=SCHEMA), ts, seq)


def rows(changes: Changes) -> list[tuple[int, ...]]:
    columns = changes.ts.tolist(), changes.seq.tolist(), changes.rows.column(0).to_pylist()
    return list(zip(*columns))


@pytest.mark.parametrize("seed", range(40))
def test_steps_are_those_of_one_batch(seed):
    random = np.random.default_rng(seed)
    parts, first = [], 0
    for number in range(int(random.integers(0, 5))):
        size = int(random.integers(0, 8))
        ts = first + random.integers(0, 4, size)
        ts = np.sort(ts) if seed % 3 else ts
        seq = 100 * number + np.arange(size) if seed % 2 else np.zeros(size, np.int64)
        parts.append(part(random, ts, seq))
        first += int(random.integers(0, 4))
    whole, found = Changes.concat(parts, SCHEMA).in_time_order(), InParts.of(parts, SCHEMA)
    assert len(found) == len(whole) and sorted(found.ts.tolist()) == found.ts.tolist()
    for start in range(-1, 20, 2):
        span = Span(start, start + 2, None)
        assert rows(found.within(span)) == rows(whole.within(whole.ts, span))


def test_parts_that_follow_each_other_are_not_copied():
    random = np.random.default_rng(7)
    parts = [
        part(random, np.array([1, 2]), np.array([1, 2])),
        part(random, np.array([2]), np.array([3])),
    ]
    assert InParts.of(parts, SCHEMA).parts == tuple(parts)
