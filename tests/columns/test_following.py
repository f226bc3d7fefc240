"""What is followed through time, instant by instant, against counting anew at every instant."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millstream.columns.cover import changes_of_cover
from millstream.columns.multiset import running_order
from millstream.columns.stretches import emit_stretches
from millstream.columns.tally import PRESENT, SMALLER, SURPLUS, tally
from millstream.columns.trace import follow, running_counts, running_integers

INSTANTS = range(0, 12)
SPANS = st.tuples(st.integers(0, 9), st.integers(1, 6)).map(lambda s: (s[0], s[0] + s[1]))


def ints(values) -> np.ndarray:
    return np.array(list(values), np.int64)


@st.composite
def rows_in_groups(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """(group, ts, exp, value) in the order of time."""
    row = st.tuples(st.integers(0, 2), SPANS, st.integers(-(2**63), 2**63 - 1))
    drawn = draw(st.lists(row, max_size=15))
    return sorted(((g, *span, value) for g, span, value in drawn), key=lambda r: r[1])


def events_of(rows) -> tuple[np.ndarray, ...]:
    """Rows as those that enter, then those that leave, each part in the order of time."""
    leaving = sorted(rows, key=lambda r: r[2])
    both = [*rows, *leaving]
    instants = [*(r[1] for r in rows), *(r[2] for r in leaving)]
    weights = [*(1 for _ in rows), *(-1 for _ in leaving)]
    return ints(r[0] for r in both), ints(instants), ints(weights), ints(r[3] for r in both)


@given(rows_in_groups())
def test_a_trace_has_the_counts_and_exact_sums_of_every_instant(rows):
    groups, instants, weights, values = events_of(rows)
    counts, shown = np.zeros(3, np.int64), np.zeros(3, np.bool_)
    trace = follow(groups, instants, weights, len(rows), counts, shown)
    valid, totals = np.ones(len(groups), np.bool_), np.zeros(3, np.int64)
    along = (trace.event, trace.group, trace.row, len(trace))
    counted = running_counts(*along, weights, valid, totals)
    sums = running_integers(*along, weights, valid, values, ints([]), *np.zeros((3, 3), np.int64))
    assert counted.tolist() == trace.present.tolist()
    for at in INSTANTS:
        for group in range(3):
            there = [r for r in rows if r[0] == group and r[1] <= at < r[2]]
            row = [
                i
                for i in range(len(trace))
                if trace.row_group[i] == group and trace.ts[i] <= at < trace.exp[i]
            ]
            assert len(row) <= 1 and (row or not there)
            if row:
                low, top = (int(part) for part in sums[row[0]])
                assert trace.present[row[0]] == len(there)
                assert top * 2**64 + (low % 2**64) == sum(r[3] for r in there)
    for i, before in enumerate(trace.previous.tolist()):
        assert before < 0 or trace.row_group[before] == trace.row_group[i]
        assert before < 0 or trace.exp[before] == trace.ts[i]


@given(rows_in_groups(), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_a_running_order_finds_the_values_around_a_fraction(rows, fraction):
    groups, instants, weights, values = events_of(rows)
    counts, shown = np.zeros(3, np.int64), np.zeros(3, np.bool_)
    trace = follow(groups, instants, weights, len(rows), counts, shown)
    slots = sorted({(g, v) for g, v in zip(groups.tolist(), values.tolist())})
    starts = ints(sum(g < group for g, _ in slots) for group in range(4))
    slot = ints(slots.index(pair) for pair in zip(groups.tolist(), values.tolist()))
    valid = np.ones(len(groups), np.bool_)
    below, above, sizes, kinds = running_order(
        trace.event, trace.group, trace.row, len(trace), weights, valid, slot,
        np.zeros(len(slots), np.int64), starts, fraction,
    )  # fmt: skip
    for i in range(len(trace)):
        group, at = int(trace.row_group[i]), int(trace.ts[i])
        there = sorted(r[3] for r in rows if r[0] == group and r[1] <= at < r[2])
        assert (sizes[i], kinds[i]) == (len(there), len(set(there)))
        if there:
            place = Fraction(fraction) * (len(there) - 1)
            low = there[int(place)]
            high = there[int(place) + (place != int(place))]
            assert slots[below[i]] == (group, low) and slots[above[i]] == (group, high)


EVENTS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), SPANS), max_size=15)


@given(EVENTS, st.sampled_from([PRESENT, SMALLER, SURPLUS]))
def test_a_tally_is_the_function_of_the_counts_at_every_instant(rows, kind):
    events = [(c, side, start, 1) for c, side, (start, _) in rows]
    events += [(c, side, stop, -1) for c, side, (_, stop) in rows]
    events.sort(key=lambda event: event[2])
    columns = [ints(column) for column in zip(*events)] if events else [ints([])] * 4
    left, right = np.zeros(2, np.int64), np.zeros(2, np.int64)
    out = list(zip(*(c.tolist() for c in tally(*columns, left, right, kind))))
    functions = {
        PRESENT: lambda a, b: int(a > 0),
        SMALLER: min,
        SURPLUS: lambda a, b: max(a - b, 0),
    }
    for at in INSTANTS:
        there = Counter((c, side) for c, side, (start, stop) in rows if start <= at < stop)
        for code in range(2):
            wanted = functions[kind](there[code, 0], there[code, 1])
            assert sum(w for c, ts, exp, w in out if c == code and ts <= at < exp) == wanted


COVERS = st.lists(st.tuples(st.integers(0, 2), SPANS, st.booleans()), max_size=12)


@given(st.lists(st.tuples(SPANS, st.booleans()), min_size=3, max_size=3), COVERS, st.booleans())
def test_changes_of_cover_are_the_difference_between_before_and_after(rows, covers, wanted):
    ts, exp = ints(s[0] for s, _ in rows), ints(s[1] for s, _ in rows)
    fresh = np.array([new for _, new in rows], np.bool_)
    row = ints(r for r, _, _ in covers)
    start, stop = ints(s[0] for _, s, _ in covers), ints(s[1] for _, s, _ in covers)
    added = np.array([new for _, _, new in covers], np.bool_)
    out = changes_of_cover(ts, exp, fresh, row, start, stop, ints([1] * len(covers)), added, wanted)
    found = list(zip(*(column.tolist() for column in out)))
    for at in INSTANTS:
        for r, (span, new) in enumerate(rows):
            lives = span[0] <= at < span[1]
            over = [old for q, s, old in covers if q == r and s[0] <= at < s[1]]
            after = lives and (len(over) > 0) == wanted
            before = lives and not new and (over.count(False) > 0) == wanted
            change = sum(w for q, a, b, w in found if q == r and a <= at < b)
            assert change == after - before


@given(st.lists(st.tuples(st.integers(0, 1), SPANS), max_size=12), st.integers(0, 15))
def test_stretches_are_where_a_value_is_present_and_do_not_overlap(rows, end):
    rows = sorted((r for r in rows if r[1][0] <= end), key=lambda r: r[1][0])
    codes = ints(c for c, _ in rows)
    ts, exp = ints(s[0] for _, s in rows), ints(s[1] for _, s in rows)
    emitted, until = np.full(2, -1, np.int64), np.full(2, -1, np.int64)
    out = emit_stretches(codes, ts, exp, emitted, until, end)
    found = list(zip(*(column.tolist() for column in out)))
    assert all(start <= end for _, start, _ in found)
    for at in range(end + 1):
        for code in range(2):
            there = any(c == code and s[0] <= at < s[1] for c, s in rows)
            assert sum(c == code and a <= at < b for c, a, b in found) == there
