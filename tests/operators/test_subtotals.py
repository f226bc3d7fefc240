"""The law of subtotals: groups come to the same at the end, from fewer rows."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.builtin import builtin
from millstream.aggregates.call import AggregateCall
from millstream.algebra.changes import Changes
from millstream.algebra.state_layout import StateLayout
from millstream.algebra.time import DAWN, INFINITY, Domain, Span
from millstream.operators import GroupBy, Scan
from millstream.operators.subtotals import Subtotals, kept_by

COLUMNS = (("k", pa.int64()), ("x", pa.float64()), ("i", pa.int64()), ("m", pa.int64()))
SCHEMA = pa.schema(list(COLUMNS))


def call(name: str, function: str, *arguments: str) -> AggregateCall:
    aggregate = builtin(function)
    assert aggregate is not None
    kind = aggregate.result(SCHEMA.field(arguments[0]).type if arguments else None)
    assert kind is not None
    return AggregateCall(name, aggregate, arguments, kind)


CALLS = (
    call("n", "count"),
    call("nx", "count", "x"),
    call("sx", "sum", "x"),
    call("ax", "avg", "x"),
    call("si", "sum", "i"),
    call("ai", "avg", "i"),
    call("low", "min", "m"),
    call("high", "max", "m"),
)
NODE = GroupBy(
    ("k",),
    CALLS,
    Scan("s", COLUMNS, Domain.INTEGER, "s"),
    state_layout=StateLayout(at_once=True),
)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.none() | st.floats(-1e9, 1e9) | st.sampled_from([math.nan, math.inf, 0.1, 1e16, -0.0]),
        st.none() | st.integers(-5, 5) | st.sampled_from([2**61, -(2**61)]),
        st.none() | st.integers(-9, 9),
        st.integers(1, 20),
        st.sampled_from([INFINITY, INFINITY, INFINITY, 12, 30]),
        st.sampled_from([1, 1, 1, 3]),
    ),
    min_size=1,
    max_size=40,
)


def changes_of(rows: list[tuple[Any, ...]]) -> Changes:
    rows = sorted(rows, key=lambda row: row[4])
    columns = list(zip(*rows))
    batch = pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types)], schema=SCHEMA
    )
    ts = np.array(columns[4])
    exp = np.maximum(np.array(columns[5]), ts + 1)
    return Changes(batch, ts, exp, np.array(columns[6]), np.zeros(len(rows), np.int64))


def shown(changes: Changes, end: int) -> list[str]:
    """What groups show at the end, and after all that is known to leave has left."""
    state, _ = NODE.step({}, changes, Span(DAWN, end, 1))
    first = NODE.snapshot(lambda name: state, end).rows.to_pylist()
    state, _ = NODE.step(state, Changes.empty(SCHEMA), Span(end, 100, 1))
    last = NODE.snapshot(lambda name: state, 100).rows.to_pylist()
    return sorted(map(repr, (*first, *last)))


def test_all_calls_are_taken() -> None:
    assert kept_by(CALLS, SCHEMA) is not None
    assert kept_by((call("a", "median", "x"),), SCHEMA) is None
    assert kept_by((call("a", "sum", "i"), call("b", "max", "i")), SCHEMA) is None
    assert kept_by((call("a", "variance", "x"),), SCHEMA) is None


@given(ROWS, st.integers(0, 20))
def test_the_same_groups(rows: list[tuple[Any, ...]], final: int) -> None:
    changes = changes_of(rows)
    fewer = Subtotals(("k",), CALLS, SCHEMA).of(changes, final)
    assert shown(fewer, 20) == shown(changes, 20)


def test_many_rows_become_few() -> None:
    rows = [(i % 2, i / 10, i, i % 7, 1 + i // 10, INFINITY, 1) for i in range(1000)]
    changes = changes_of(rows)
    fewer = Subtotals(("k",), CALLS, SCHEMA).of(changes, 101)
    assert len(fewer) == 6
    assert shown(fewer, 200) == shown(changes, 200)
