"""Sync and SyncAt against their law, instant by instant, however steps are cut."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.changes import Changes
from millstream.algebra.points import Points
from millstream.algebra.time import INFINITY, Domain, Span
from millstream.operators import Instants, Range, Scan, Sync, SyncAt, Ticks, Unbounded

END = 40
SCAN = Scan("s", (("x", pa.int64()),), Domain.INTEGER, "s")
POINTS = {
    "every 5": Points.every(5, 0, 1),
    "every 7 at 3": Points.every(7, 3, 1),
    "every instant": Points.all(1),
    "two sets": Points.every(6, 0, 1) | Points.every(9, 4, 1),
    "some, then none": Points.every(4, 1, 1) & Points.between(0, 22, 1),
    "late ones": Points.every(3, 0, 1) & Points.between(17, 1000, 1),
    "never": Points.none(1),
}

Row = tuple[int, int, int, int, int]
"""Value, start, end, weight and identity."""


def relation(seed: int) -> list[Row]:
    """Rows of which some leave at a known end, some are retracted, and some come back."""
    rng, rows = random.Random(seed), list[Row]()
    for identity in range(12):
        value, at = rng.randrange(4), rng.randrange(1, 25)
        while at < END - 2 and rng.random() < 0.8:
            end = rng.choice((INFINITY, INFINITY, at + rng.randrange(1, 15)))
            rows.append((value, at, end, 1, identity))
            if end == INFINITY or rng.random() < 0.4:
                gone = at + rng.randrange(0, 9)
                if gone >= min(end, END) or gone < at:
                    break
                rows.append((value, gone, end, -1, identity))
                at = gone + rng.randrange(0, 4)
            else:
                at = end + rng.randrange(0, 4)
    return sorted(rows, key=lambda row: row[1])


def changes(rows: list[Row]) -> Changes:
    if not rows:
        return Changes.empty(SCAN.schema)
    values, ts, exp, weight, seq = (np.array(c, np.int64) for c in zip(*rows))
    batch = pa.record_batch([pa.array(values)], schema=SCAN.schema)
    return Changes(batch, ts, exp, weight, seq)


def present(rows: list[Row], instant: int) -> Counter[tuple[int, int]]:
    """The tuples at an instant, by value and identity."""
    found: Counter[tuple[int, int]] = Counter()
    for value, start, end, weight, identity in rows:
        if start <= instant < end:
            found[value, identity] += weight
    return Counter({row: count for row, count in found.items() if count})


def rows_of(parts: list[Changes]) -> list[Row]:
    return [
        row
        for part in parts
        for row in zip(
            part.rows.column(0).to_pylist(),
            part.ts.tolist(),
            part.exp.tolist(),
            part.weight.tolist(),
            part.seq.tolist(),
        )
    ]


def run(node, rows: list[Row], ends: list[int], right: list[int] | None) -> list[Changes]:
    """What a node gives, step by step; `right` are the points of a stream."""
    state, start, out = {}, 0, []
    for end in ends:
        given = [changes([row for row in rows if start < row[1] <= end])]
        if right is not None:
            there = np.array([t for t in right if start < t <= end], np.int64)
            empty = pa.RecordBatch.from_arrays([], schema=pa.schema([]))
            given.append(Changes.elements(empty, there, np.arange(len(there))))
        state, emitted = node.step(state, *given, Span(start, end, 1))
        assert ((emitted.ts > start) & (emitted.ts <= end)).all(), "every instant is whole"
        assert (emitted.ts < emitted.exp).all()
        out.append(emitted)
        start = end
    return out


def expected(rows: list[Row], points: list[int], instant: int) -> Counter[tuple[int, int]]:
    past = [point for point in points if point <= instant]
    return present(rows, past[-1]) if past else Counter()


CUTS = {"at once": [END], "each instant": list(range(1, END + 1)), "few": [2, 3, 11, 12, 30, END]}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", POINTS)
def test_the_output_is_the_input_at_the_last_point(name: str, cut: str, monkeypatch) -> None:
    monkeypatch.setattr("millstream.operators.sync.FEW", 1)
    points = POINTS[name]
    instants = points.within(0, END).tolist()
    for seed in range(25):
        rows = relation(seed)
        by_clock = run(Sync(points, Unbounded(SCAN)), rows, CUTS[cut], None)
        by_stream = run(SyncAt(Unbounded(SCAN), SCAN), rows, CUTS[cut], instants * 2)
        for out in (by_clock, by_stream):
            emitted = rows_of(out)
            for instant in range(END + 1):
                there = present(emitted, instant)
                assert there == expected(rows, instants, instant), (name, cut, seed, instant)
        changed = {row[1] for row in rows_of(by_clock)} | {row[1] for row in rows_of(by_stream)}
        assert changed <= set(instants)


def test_between_two_points_only_what_changes_come_to_is_kept(monkeypatch) -> None:
    """A thousand updates of two keys: neither the state nor the output grows with them."""
    monkeypatch.setattr("millstream.operators.sync.FEW", 8)
    node, state, given = Sync(Points.every(5_000, 0, 1), Unbounded(SCAN)), {}, 0
    for at in range(1, 1_000):
        rows = [(at % 2, at, INFINITY, 1, at)]
        if at > 2:
            rows.insert(0, (at % 2, at, INFINITY, -1, at - 2))
        given += len(rows)
        state, out = node.step(state, changes(rows), Span(at - 1, at, 1))
        assert len(out) == 0 and state["waiting"].rows < 40
    _, out = node.step(state, changes([]), Span(999, 5_000, 1))
    assert given > 1_900 and sorted(rows_of([out])) == [
        (0, 5_000, INFINITY, 1, 998),
        (1, 5_000, INFINITY, 1, 999),
    ]


def test_a_window_with_a_slide_is_a_sync() -> None:
    """[Range 6 Slide 5] is [Range 6] at every multiple of 5."""
    from millstream.operators import RangeSlide

    rng = random.Random(3)
    rows = [(i % 3, t, t + 1, 1, i) for i, t in enumerate(sorted(rng.choices(range(1, 30), k=40)))]
    slides = run(RangeSlide(6, 5, SCAN), rows, CUTS["few"], None)
    ranged = run(Range(6, SCAN), rows, CUTS["few"], None)
    synced = run(Sync(Points.every(5, 0, 1), Range(6, SCAN)), rows_of(ranged), CUTS["few"], None)
    assert sorted(rows_of(slides)) == sorted(rows_of(synced))


def test_the_clock_ticks_from_the_first_instant_on() -> None:
    node, start, found = Ticks(Points.every(3, 0, 1), SCAN), 0, []
    for end in (2, 3, 8, 9, 20):
        _, out = node.step({}, changes([]), Span(start, end, 5))
        found += out.rows.column(0).to_pylist()
        assert out.rows.column(0).to_pylist() == out.ts.tolist()
        start = end
    assert found == [6, 9, 12, 15, 18]
    assert len(node.step({}, changes([]), Span(0, 9, None))[1]) == 0


def test_instants_are_those_of_elements_that_name_their_own() -> None:
    rows = [(3, 3, 4, 1, 1), (3, 4, 5, 1, 2), (5, 5, 6, 1, 3), (5, 5, 6, 1, 4)]
    _, own = Instants("x", 1, SCAN).step({}, changes(rows), Span(0, 9, 1))
    _, all_of_them = Instants(None, 1, SCAN).step({}, changes(rows), Span(0, 9, 1))
    assert own.ts.tolist() == [3, 5] and all_of_them.ts.tolist() == [3, 4, 5]
    assert own.rows.num_columns == 0
