"""Totals of some values, combined with those of others, are the totals of all of them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.builtin import BUILTINS
from millstream.aggregates.running import Running
from millstream.aggregates.totals import Total, Totals
from millstream.columns.trace import follow

GROUPS = 3
VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.sampled_from([0.1, 1e16, -1e16, 3.0, -0.5, float("inf"), float("nan")]),
    pa.decimal128(20, 2): st.integers(-(10**17), 10**17).map(lambda n: Decimal(n).scaleb(-2)),
}
RUNNING = [a for a in BUILTINS if isinstance(a.way, Running)]


def totals_of(total: Total, rows: list[tuple[int, object]], kind: pa.DataType) -> Totals:
    """What a total keeps of every group after rows of a group and a value."""
    totals: Totals = [np.zeros(GROUPS, column) for column in total.columns]
    groups = np.array([group for group, _ in rows], np.int64)
    ones, zeros = np.ones(len(rows), np.int64), np.zeros(GROUPS, np.int64)
    trace = follow(groups, np.arange(len(rows)), ones, len(rows), zeros, zeros > 0)
    total.run(trace, ones, pa.array([value for _, value in rows], kind), totals)
    return totals


@pytest.mark.slow
@pytest.mark.parametrize("aggregate", RUNNING, ids=lambda aggregate: aggregate.name)
@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_two_parts_make_the_whole(aggregate, kind):
    result = aggregate.result(kind)
    assert result is not None and isinstance(aggregate.way, Running)
    kept = aggregate.way.totals(kind)
    row = st.tuples(st.integers(0, GROUPS - 1), st.none() | VALUES[kind])

    @given(st.lists(row, max_size=12), st.integers(0, 12))
    def check(rows, cut):
        parts = [
            total.combine(totals_of(total, rows[:cut], kind), totals_of(total, rows[cut:], kind))
            for total in kept
        ]
        whole = [totals_of(total, rows, kind) for total in kept]
        for part, known in zip(parts, whole):
            assert [column.dtype for column in part] == [column.dtype for column in known]
            for mine, theirs in zip(part, known):
                assert np.array_equal(mine, theirs) or np.allclose(mine, theirs, rtol=1e-15)

    check()


def test_a_sum_keeps_all_digits():
    real = next(a for a in RUNNING if a.name == "sum").way.totals(pa.float64())[1]
    some = totals_of(real, [(0, 1e16), (0, 1.0)], pa.float64())
    others = totals_of(real, [(0, -1e16), (0, 0.5)], pa.float64())
    both = real.combine(some, others)
    assert both[0][0] + both[1][0] == 1.5
