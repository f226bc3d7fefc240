"""TopK against a list that is sorted anew at every instant, whatever the cut into steps."""

from __future__ import annotations

import random
from collections import Counter
from functools import cmp_to_key

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.changes import Changes
from millstream.algebra.time import DAWN, INFINITY, Domain, Span
from millstream.operators import Scan, TopK, top_k

COLUMNS = (("item", pa.string()), ("price", pa.int64()), ("rate", pa.float64()))
BIDS = Scan("bids", COLUMNS, Domain.INTEGER, "")
LAST = 30

SHAPES = [
    TopK((("price", True, False),), 3, 0, (), BIDS),
    TopK((("price", False, True),), 1, 0, (), BIDS),
    TopK((("rate", True, True), ("price", False, False)), 4, 2, (), BIDS),
    TopK((("item", True, False),), None, 3, (), BIDS),
    TopK((("price", False, False),), 2, 1, ("item",), BIDS),
    TopK((("rate", False, False),), 2, 0, ("item", "price"), BIDS),
    TopK((("price", True, True),), 0, 0, (), BIDS),
]


def history(chance: random.Random, size: int, copies: int) -> list[tuple]:
    """Rows as (values, seq, ts, exp, weight): positive ones, and those that take them away early.

    A row of the same values and seq may come back after it has left.
    """
    rows: list[tuple] = []
    free: dict[tuple, int] = {}
    for number in range(size):
        values = (
            chance.choice(["pen", "ink", None]),
            chance.choice([None, 1, 2, 3, 4]),
            chance.choice([None, 0.5, 1.5, float("nan")]),
        )
        seq = number if chance.random() < 0.7 else -1 - number // 20
        ts = max(chance.randrange(LAST), free.get((named(values), seq), 0))
        if ts == INFINITY:
            continue
        exp = INFINITY if chance.random() < 0.4 else ts + chance.randint(1, 12)
        weight = chance.randint(1, copies)
        rows.append((values, seq, ts, exp, weight))
        leave, gone = ts + chance.randint(1, 10), 0
        if leave < exp and chance.random() < 0.5:
            gone = chance.randint(1, weight)
            rows.append((values, seq, leave, exp, -gone))
        left = leave if gone == weight else exp
        free[(named(values), seq)] = left if left == INFINITY else left + 1
    return rows


def changes_of(rows: list[tuple]) -> Changes:
    names = [name for name, _ in COLUMNS]
    columns = [pa.array([r[0][i] for r in rows], kind) for i, (_, kind) in enumerate(COLUMNS)]
    times = [np.array([r[i] for r in rows], np.int64) for i in (2, 3, 4, 1)]
    return Changes(pa.RecordBatch.from_arrays(columns, names), *times)


def rows_of(changes: Changes) -> list[tuple]:
    values = list(zip(*[column.to_pylist() for column in changes.rows.columns]))
    times = (changes.seq, changes.ts, changes.exp, changes.weight)
    return list(zip(values, *[t.tolist() for t in times]))


def content(rows: list[tuple], instant: int) -> Counter:
    """How often every (values, seq) is present; NaN by its name."""
    found: Counter = Counter()
    for values, seq, ts, exp, weight in rows:
        if ts <= instant < exp:
            found[(named(values), seq)] += weight
    assert all(count >= 0 for count in found.values())
    return +found


def named(values: tuple) -> tuple:
    return tuple("nan" if value != value else value for value in values)


def compare(a: object, b: object, descending: bool, nulls_first: bool) -> int:
    if a is None or b is None:
        return ((b is None) - (a is None)) * (1 if nulls_first else -1)
    low, high = ((v == "nan", 0 if v == "nan" else v) for v in (a, b))
    return ((low > high) - (low < high)) * (-1 if descending else 1)


def expected(node: TopK, present: Counter) -> Counter:
    """The law, word for word."""
    place = {name: i for i, (name, _) in enumerate(COLUMNS)}
    rules = [(place[n], down, first) for n, down, first in node.order]
    rules += [(i, False, True) for i in range(len(COLUMNS))]

    def before(left: tuple, right: tuple) -> int:
        for i, down, first in rules:
            if found := compare(left[0][i], right[0][i], down, first):
                return found
        one, other = ((max(row[1], 0), row[1]) for row in (left, right))
        return (one > other) - (one < other)

    shown: Counter = Counter()
    partitions: dict[tuple, list] = {}
    for row in sorted(present.elements(), key=cmp_to_key(before)):
        partitions.setdefault(tuple(row[0][place[n]] for n in node.partition_by), []).append(row)
    for rows in partitions.values():
        end = None if node.limit is None else node.offset + node.limit
        shown.update(rows[node.offset : end])
    return shown


def run(node: TopK, rows: list[tuple], cuts: list[int]) -> list[tuple]:
    state, out, start = {}, [], DAWN
    for end in cuts:
        given = changes_of([r for r in rows if start < r[2] <= end])
        state, told = node.step(state, given, Span(start, end, 0))
        found = rows_of(told)
        assert all(start < r[2] <= end for r in found)
        assert all(r[3] == INFINITY or r[3] <= end for r in found)
        out += found
        start = end
    return out


def check_clean(rows: list[tuple]) -> None:
    """No row both comes and goes at one instant."""
    ends: Counter = Counter()
    signs: dict[tuple, set] = {}
    for values, seq, ts, exp, weight in rows:
        signs.setdefault((named(values), seq, ts), set()).add(weight > 0)
        if exp < INFINITY:
            ends[(named(values), seq, exp)] -= weight
    for row, weight in ends.items():
        if weight:
            signs.setdefault(row, set()).add(weight > 0)
    assert all(len(found) == 1 for found in signs.values())


@pytest.mark.parametrize("node", SHAPES, ids=lambda node: node.words)
@pytest.mark.parametrize("copies", [1, 3])
def test_first_rows_at_every_instant(node, copies):
    chance = random.Random(f"{node.words} {copies}")
    for size in (5, 20, 20, 60, 60):
        rows = history(chance, size, copies)
        wanted = [expected(node, content(rows, t)) for t in range(LAST + 15)]
        for _ in range(4):
            cuts = [*sorted(chance.sample(range(LAST + 14), chance.randint(0, 12))), LAST + 14]
            out = run(node, rows, cuts)
            assert [content(out, t) for t in range(LAST + 15)] == wanted
            check_clean(out)


@pytest.mark.parametrize("node", [n for n in SHAPES if n.limit], ids=lambda node: node.words)
def test_far_rows_are_fetched_when_near_ones_have_left(node, monkeypatch):
    """With room for few near rows, most rows are far."""
    monkeypatch.setattr(top_k, "NEAR", 1)
    monkeypatch.setattr(TopK, "room", lambda self, rows: self.end + 1)
    chance = random.Random(node.words)
    for _ in range(5):
        rows = history(chance, 150, 1)
        wanted = [expected(node, content(rows, t)) for t in range(LAST + 15)]
        cuts = [*sorted(chance.sample(range(LAST + 14), 20)), LAST + 14]
        out = run(node, rows, cuts)
        assert [content(out, t) for t in range(LAST + 15)] == wanted
        check_clean(out)


def test_a_row_that_stays_is_not_told_again():
    rows = [(("pen", 5, 1.0), 0, 1, INFINITY, 1), (("ink", 4, 1.0), 1, 2, 5, 1)]
    rows += [(("cup", 9, 1.0), 2, 3, INFINITY, 1)]
    node = TopK((("price", True, False),), 2, 0, (), BIDS)
    out = run(node, rows, [1, 2, 3, 4, 10])
    assert sorted((r[2], r[0][0], *r[3:]) for r in out) == [
        (1, "pen", INFINITY, 1),
        (2, "ink", INFINITY, 1),
        (3, "cup", INFINITY, 1),
        (3, "ink", INFINITY, -1),
    ]
    assert [(r[0][0], *r[2:]) for r in run(node, rows, [10])] == [
        ("pen", 1, INFINITY, 1),
        ("ink", 2, 3, 1),
        ("cup", 3, INFINITY, 1),
    ]
