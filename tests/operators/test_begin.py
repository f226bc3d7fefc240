"""Begin against its law: empty before its instant, and its input from then on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.changes import Changes
from millstream.algebra.time import INFINITY, Domain, Span
from millstream.operators import Begin, Scan, Unbounded

SCAN = Scan("s", (("x", pa.int64()),), Domain.INTEGER, "s")
ROWS = [(1, 1, 4, 1), (2, 2, 9, 1), (3, 3, INFINITY, 1), (3, 5, INFINITY, -1), (4, 8, 12, 1)]
"""Value, start, end and weight; the third is retracted by the fourth."""


def changes(rows: list[tuple[int, int, int, int]]) -> Changes:
    values, ts, exp, weight = (np.array(c, np.int64) for c in zip(*rows))
    batch = pa.record_batch([pa.array(values)], schema=SCAN.schema)
    return Changes(batch, ts, exp, weight, np.zeros(len(rows), np.int64))


def present(every: list[Changes], instant: int) -> list[int]:
    found: dict[int, int] = {}
    for part in every:
        there = part.keep((part.ts <= instant) & (instant < part.exp))
        for value, weight in zip(there.rows.column(0).to_pylist(), there.weight.tolist()):
            found[value] = found.get(value, 0) + weight
    return sorted(value for value, count in found.items() for _ in range(count))


@pytest.mark.parametrize("ends", [[20], [3, 6, 20], list(range(1, 21))])
def test_a_relation_is_empty_before_the_instant_and_the_input_from_then_on(ends: list[int]) -> None:
    node, state, start, out = Begin(6, Unbounded(SCAN)), {}, 0, []
    for end in ends:
        here = [row for row in ROWS if start < row[1] <= end]
        given = changes(here) if here else Changes.empty(SCAN.schema)
        state, emitted = node.step(state, given, Span(start, end, 1))
        assert ((emitted.ts > start) & (emitted.ts <= end)).all(), "every instant is whole"
        out.append(emitted)
        start = end
    for instant in range(21):
        expected = [] if instant < 6 else present([changes(ROWS)], instant)
        assert present(out, instant) == expected, instant


def test_a_stream_has_the_elements_after_the_instant() -> None:
    rows = pa.record_batch([pa.array([1, 2, 3])], schema=SCAN.schema)
    given = Changes.elements(rows, np.array([5, 6, 7]), np.arange(3))
    _, emitted = Begin(6, SCAN).step({}, given, Span(4, 9, 5))
    assert emitted.rows.column(0).to_pylist() == [3]
