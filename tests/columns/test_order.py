"""Orders on columns against Python's sort."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.columns.order import (
    canonical_order,
    group_order,
    is_among,
    is_sorted,
    ranks,
    sorted_order,
    stable_order,
)

SMALL = st.lists(st.integers(-4, 4), max_size=30)
DOUBLES = st.sampled_from([-1.0, 0.0, 2.5, math.inf, -math.inf, math.nan])


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


@given(SMALL)
def test_a_stable_order_keeps_ties(values):
    order = stable_order(ints(values))
    wanted = sorted(range(len(values)), key=lambda i: values[i])
    assert (order is None) == (values == sorted(values)) == is_sorted(ints(values))
    assert order is None or order.tolist() == wanted


@given(SMALL, SMALL)
def test_values_are_found_among_sorted_ones(values, known):
    found = is_among(ints(values), ints(sorted(known)))
    assert found.tolist() == [value in known for value in values]


@given(st.lists(st.integers(0, 5), max_size=30), st.randoms(use_true_random=False))
def test_a_group_order_keeps_the_order_inside_of_groups(groups, random):
    order = list(range(len(groups)))
    random.shuffle(order)
    found, starts = group_order(ints(groups), ints(order), 6)
    assert found.tolist() == sorted(order, key=lambda i: groups[i])
    assert starts.tolist() == [sum(g < group for g in groups) for group in range(7)]


def key_of(value: Any, descending: bool, nulls_first: bool) -> tuple:
    """Where a value comes: NaN is the greatest number, NULL stands at one end."""
    if value is None:
        return (0 if nulls_first else 2,)
    number = (1, 0.0) if isinstance(value, float) and math.isnan(value) else (0, value)
    return (1, *(-part for part in number)) if descending else (1, *number)


@given(
    st.lists(st.tuples(st.none() | DOUBLES, st.none() | st.integers(-2, 2)), max_size=20),
    st.tuples(st.booleans(), st.booleans()),
    st.tuples(st.booleans(), st.booleans()),
)
def test_rows_are_sorted_by_several_columns(rows, first, second):
    doubles, numbers = (
        pa.array([a for a, _ in rows], "double"),
        pa.array([b for _, b in rows], "int64"),
    )
    order = sorted_order([(doubles, *first), (numbers, *second)])
    wanted = sorted(
        range(len(rows)), key=lambda i: (key_of(rows[i][0], *first), key_of(rows[i][1], *second))
    )
    assert order.tolist() == wanted


@given(st.lists(st.none() | st.lists(st.none() | st.integers(0, 2), max_size=3), max_size=12))
def test_ranks_of_lists_go_by_their_elements(lists):
    def place(value: list) -> list[int]:
        return [-1 if element is None else element for element in value]

    different = sorted({tuple(place(value)) for value in lists if value is not None})
    wanted = [0 if v is None else different.index(tuple(place(v))) + 1 for v in lists]
    assert ranks(pa.array(lists, pa.list_(pa.int64()))).tolist() == wanted


@given(st.lists(st.tuples(st.integers(0, 2), st.none() | st.sampled_from("abc")), max_size=15))
def test_results_leave_by_their_keys_and_then_by_value(rows):
    batch = pa.RecordBatch.from_arrays([pa.array([b for _, b in rows], pa.string())], ["b"])
    order = canonical_order([ints([a for a, _ in rows])], batch).tolist()
    shown = [rows[i] for i in order]
    assert shown == sorted(rows, key=lambda row: (row[0], row[1] or ""))
    assert sorted(order) == list(range(len(rows)))
