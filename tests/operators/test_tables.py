"""TableScan and NonRetroactiveJoin against what their laws say, instant by instant."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from millstream.algebra.changes import Changes, no_rows
from millstream.algebra.expressions import Call, Column
from millstream.algebra.time import DAWN, INFINITY, Domain, Span
from millstream.algebra.types import BOOLEAN, INTEGER, STRING
from millstream.bind.tables.declared import static_table
from millstream.operators import NonRetroactiveJoin, Range, Rows, Scan, TableScan

LAST = 12
DATA = pa.schema([("k", INTEGER), ("v", INTEGER)])
SCAN = Scan("t", (("op", STRING), ("k", INTEGER), ("v", INTEGER)), Domain.INTEGER, "")
BIDS = Scan("s", (("k2", INTEGER), ("n", INTEGER)), Domain.INTEGER, "")

keys = st.one_of(st.none(), st.integers(0, 2))
cells = st.tuples(keys, st.integers(0, 2))
modifications = st.lists(
    st.tuples(st.integers(1, LAST), st.sampled_from(["+", "u", "-"]), cells), max_size=14
)
cuts = st.sets(st.integers(1, LAST - 1)).map(sorted)


def elements(rows: list[dict], schema: pa.Schema, times: list[int]) -> Changes:
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    return Changes.elements(batch, np.array(times, np.int64), np.arange(1, len(times) + 1))


def told(changes: list[tuple]) -> Changes:
    ordered = sorted(changes, key=lambda change: change[0])
    rows = [{"op": op, "k": k, "v": v} for _, op, (k, v) in ordered]
    return elements(rows, SCAN.schema, [t for t, _, _ in ordered])


def spans(cut: list[int], begin: int) -> list[Span]:
    ends = [*cut, LAST]
    return [Span(a, b, begin) for a, b in zip([DAWN, *ends], ends)]


def between(changes: Changes, span: Span) -> Changes:
    return changes.keep((changes.ts > span.start) & (changes.ts <= span.end))


def at(parts: list[Changes], instant: int) -> Counter:
    """The relation at an instant; never a negative count."""
    found: Counter = Counter()
    for part in parts:
        for row, ts, exp, weight in zip(part.rows.to_pylist(), part.ts, part.exp, part.weight):
            if ts <= instant < exp:
                found[tuple(row.values())] += int(weight)
    assert all(count >= 0 for count in found.values())
    return +found


def is_consolidated(parts: list[Changes]) -> bool:
    """At one instant, never both + and − of the same tuple."""
    seen: dict[tuple, int] = {}
    for part in parts:
        for row, ts, seq, weight in zip(part.rows.to_pylist(), part.ts, part.seq, part.weight):
            name = (tuple(row.values()), int(ts), int(seq))
            if seen.setdefault(name, int(np.sign(weight))) != int(np.sign(weight)):
                return False
    return True


def table_at(first: list[tuple], changes: list[tuple], keyed: bool, instant: int) -> Counter:
    """What a table is at an instant, by carrying out one change after the other."""
    rows = list(first)
    for ts, op, row in sorted(changes, key=lambda change: change[0]):
        if ts > instant:
            continue
        if keyed:
            rows = [r for r in rows if r[0] != row[0]]
            rows += [row] if op != "-" else []
        elif op == "-":
            if row in rows:
                rows.remove(row)
        else:
            rows.append(row)
    return Counter(rows)


def scan_of(first: list[tuple], keyed: bool, before: bool = False) -> TableScan:
    rows = pa.RecordBatch.from_pylist([{"k": k, "v": v} for k, v in first], schema=DATA)
    keys = ("k",) if keyed else ()
    return TableScan(static_table("t", rows), keys, SCAN, non_retroactive=before)


def run_table(node: TableScan, changes: Changes, cut: list[int], begin: int) -> list[Changes]:
    state, parts = {}, []
    for span in spans(cut, begin):
        state, out = node.step(state, between(changes, span), span)
        assert ((out.ts > span.start) & (out.ts <= span.end)).all()
        parts.append(out)
    return parts


@settings(max_examples=300)
@given(st.lists(cells, max_size=4), modifications, st.booleans(), cuts)
def test_a_table_is_what_its_changes_make(first, changes, keyed, cut):
    if keyed:
        first = list({row[0]: row for row in first}.values())
    else:
        changes = [(ts, "+" if op == "u" else op, row) for ts, op, row in changes]
    parts = run_table(scan_of(first, keyed), told(changes), cut, 1)
    for instant in range(1, LAST + 1):
        assert at(parts, instant) == table_at(first, changes, keyed, instant)
    assert is_consolidated(parts)


@given(modifications, cuts)
def test_what_a_table_begins_with_enters_with_the_query(changes, cut):
    later = [change for change in changes if change[0] >= 4]
    parts = run_table(scan_of([(0, 0), (1, 1)], True), told(later), cut, 4)
    assert at(parts, 3) == Counter()
    assert at(parts, 4) == table_at([(0, 0), (1, 1)], later, True, 4)


SAME = Call("=", (Column("k2", INTEGER), Column("k", INTEGER)), BOOLEAN)
MORE = Call(">=", (Column("n", INTEGER), Column("v", INTEGER)), BOOLEAN)
CONDITIONS = (SAME, MORE, Call("and", (SAME, MORE), BOOLEAN))


def meets(condition: Call, bid: tuple, row: tuple) -> bool:
    same = bid[0] is not None and bid[0] == row[0]
    more = bid[1] >= row[1]
    return (condition == MORE or same) and (condition == SAME or more)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.lists(cells, max_size=3),
    modifications,
    st.lists(st.tuples(st.integers(1, LAST), cells), max_size=10),
    st.sampled_from(CONDITIONS),
    st.booleans(),
    st.sampled_from(["range", "rows"]),
    cuts,
)
@example([(None, 0)], [(1, "+", (None, 0))], [(1, (None, 0))], MORE, False, "range", [])
@example([(0, 0)], [(1, "u", (0, 1))], [(1, (0, 2)), (2, (0, 2))], SAME, True, "rows", [1])
@example([(0, 0)], [(1, "-", (0, 0))], [(1, (0, 0)), (2, (0, 0))], SAME, True, "range", [])
def test_rows_are_joined_with_the_table_before_them(
    first, changes, bids, condition, outer, kind, cut
):
    first = list({row[0]: row for row in first}.values())
    bids = sorted(bids, key=lambda bid: bid[0])
    window = Range(2, BIDS) if kind == "range" else Rows(2, (), None, 1, BIDS)
    scan = scan_of(first, True, before=True)
    node = NonRetroactiveJoin(condition, outer, window, scan)
    arrivals = elements(
        [{"k2": k, "n": n} for _, (k, n) in bids], BIDS.schema, [t for t, _ in bids]
    )
    modified = told(changes)
    states: list[dict] = [{}, {}, {}]
    parts = []
    for span in spans(cut, 1):
        states[0], left = window.step(states[0], between(arrivals, span), span)
        states[1], right = scan.step(states[1], between(modified, span), span)
        states[2], out = node.step(states[2], left, right, span)
        parts.append(out)
    for instant in range(1, LAST + 1):
        wanted: Counter = Counter()
        past = [bid for bid in bids if bid[0] <= instant]
        for ts, bid in [b for b in past if b[0] >= instant - 2] if kind == "range" else past[-2:]:
            table = table_at(first, changes, True, ts - 1)
            partners = [row for row in table.elements() if meets(condition, bid, row)]
            wanted.update((*bid, *row) for row in partners)
            if outer and not partners:
                wanted[(*bid, None, None)] += 1
        assert at(parts, instant) == wanted, instant
    assert is_consolidated(parts)


def test_an_empty_table_of_no_columns_asked():
    node = TableScan(static_table("t", no_rows(DATA)), ("k",))
    assert node.monotonic and node.inputs == () and INFINITY > LAST


@st.composite
def comings_and_goings(draw) -> list[tuple]:
    """Left tuples that come, leave early and come again: (ts, exp, weight, seq, row)."""
    found = []
    for seq in range(draw(st.integers(0, 4))):
        row = draw(cells)
        times = sorted(draw(st.sets(st.integers(1, LAST), min_size=1, max_size=5)))
        exp = draw(st.sampled_from([INFINITY, LAST + 1, LAST]))
        signs = [1, -1] * 3
        found += [(t, exp, sign, seq, row) for t, sign in zip(times, signs) if t < exp]
    return sorted(found)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(modifications, comings_and_goings(), st.sampled_from(CONDITIONS), st.booleans(), cuts)
def test_a_tuple_that_comes_again_is_joined_again(changes, moves, condition, outer, cut):
    left_node = Rows(2, (), None, 1, BIDS)
    scan = scan_of([], True, before=True)
    node = NonRetroactiveJoin(condition, outer, left_node, scan)
    rows = [{"k2": k, "n": n} for _, _, _, _, (k, n) in moves]
    numbers = np.array([move[:4] for move in moves], np.int64).reshape(-1, 4).T
    left = Changes(pa.RecordBatch.from_pylist(rows, schema=BIDS.schema), *numbers)
    modified = told(changes)
    states: list[dict] = [{}, {}]
    parts = []
    for span in spans(cut, 1):
        states[0], right = scan.step(states[0], between(modified, span), span)
        states[1], out = node.step(states[1], between(left, span), right, span)
        parts.append(out)
    for instant in range(1, LAST + 1):
        wanted: Counter = Counter()
        for seq in {move[3] for move in moves}:
            mine = [m for m in moves if m[3] == seq and m[0] <= instant]
            if not mine or mine[-1][2] < 0 or mine[-1][1] <= instant:
                continue
            bid = mine[-1][4]
            table = table_at([], changes, True, mine[-1][0] - 1)
            partners = [row for row in table.elements() if meets(condition, bid, row)]
            wanted.update((*bid, *row) for row in partners)
            if outer and not partners:
                wanted[(*bid, None, None)] += 1
        assert at(parts, instant) == wanted, instant
    assert is_consolidated(parts)
