"""Numbers, hashes and buckets of rows against plain Python: equal rows alike, others apart."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.columns.keys import (
    buckets_of,
    equal_rows,
    factorize,
    hashes_of,
    same_values,
    to_doubles,
)

NUMBERS = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy]] = {
    "bigint": (pa.int64(), NUMBERS),
    "boolean": (pa.bool_(), st.booleans()),
    "double": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf, 5e-324])),
    "string": (pa.string(), st.sampled_from(["", "a", "ä", "aa", "a\0"])),
    "decimal": (pa.decimal128(6, 2), st.sampled_from([Decimal("1.50"), Decimal("-0.01")])),
    "timestamp": (pa.timestamp("us"), st.integers(-2, 2)),
    "date": (pa.date32(), st.integers(-2, 2)),
    "list": (pa.list_(pa.int64()), st.lists(st.none() | st.integers(0, 1), max_size=2)),
    "null": (pa.null(), st.none()),
}


def known(value: Any) -> Any:
    """A value that Python compares as GROUP BY does: one NaN, one zero, NULL equal to NULL."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return tuple(value) if isinstance(value, list) else value


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[pa.Array], list[tuple]]:
    """A few columns, and their rows as Python compares them."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    length = draw(st.integers(0, 12))
    arrays, values = [], []
    for kind, strategy in (KINDS[name] for name in kinds):
        drawn = draw(st.lists(st.none() | strategy, min_size=length, max_size=length))
        arrays.append(pa.array(drawn, kind))
        values.append([known(value) for value in drawn])
    return arrays, list(zip(*values))


@given(columns())
def test_equal_rows_have_one_number_in_order_of_appearance(case):
    arrays, rows = case
    codes, first = factorize(arrays, len(rows))
    numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    assert codes.tolist() == [numbers[row] for row in rows]
    assert first.tolist() == [rows.index(row) for row in numbers]


@given(columns(), st.integers(1, 9))
def test_hashes_and_buckets_do_not_depend_on_the_batch(case, buckets):
    arrays, rows = case
    hashes, placed = hashes_of(arrays, len(rows)), buckets_of(arrays, len(rows), buckets)
    assert all(0 <= bucket < buckets for bucket in placed)
    for at in range(len(rows)):
        alone = [array.slice(at, 1) for array in arrays]
        assert hashes_of(alone, 1)[0] == hashes[at]
        assert buckets_of(alone, 1, buckets)[0] == placed[at]
    of_row: dict[tuple, int] = {}
    for row, number in zip(rows, hashes.tolist()):
        assert of_row.setdefault(row, number) == number
    assert len(set(of_row.values())) == len(of_row), "different rows, different hashes"


@given(columns(), st.data())
def test_rows_are_compared_by_their_values(case, data):
    arrays, rows = case
    if not rows:
        return
    batch = pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])
    pick = st.lists(st.integers(0, len(rows) - 1), min_size=5, max_size=5)
    i, j = (np.array(data.draw(pick)) for _ in range(2))
    wanted = [rows[a] == rows[b] for a, b in zip(i, j)]
    assert equal_rows(batch, i, batch, j).tolist() == wanted
    left, right = (arrays[0].take(pa.array(k)) for k in (i, j))
    assert same_values(left, right).tolist() == [rows[a][0] == rows[b][0] for a, b in zip(i, j)]


def test_without_columns_all_rows_are_one():
    codes, first = factorize([], 3)
    assert codes.tolist() == [0, 0, 0] and first.tolist() == [0]
    assert factorize([], 0)[1].tolist() == []


@pytest.mark.parametrize("spread", [10, 2**40])
def test_many_rows_are_numbered_as_numpy_does(spread):
    values = np.random.default_rng(spread).integers(0, spread, 50_000)
    codes, first = factorize([pa.array(values)], len(values))
    different, at = np.unique(values, return_index=True)
    assert len(first) == len(different) and np.array_equal(np.sort(first), np.sort(at))
    assert np.array_equal(values[first][codes], values)


@given(st.decimals(-999, 999, places=2))
def test_decimals_become_the_nearest_double(value):
    assert to_doubles(pa.array([value], pa.decimal128(6, 2)))[0].as_py() == float(value)
