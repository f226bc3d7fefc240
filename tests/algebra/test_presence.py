"""When a row meets a condition that reads Now: against trying every instant."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import Call, Case, Column, Expression, Literal
from millstream.algebra.now import NOW, bounds_of
from millstream.algebra.points import Points
from millstream.algebra.presence import Presence
from millstream.algebra.time import INFINITY
from millstream.algebra.turns import truth_at
from millstream.algebra.types import BOOLEAN, DOUBLE, INTEGER

NOW_COLUMN = Column(NOW, INTEGER)
X, Y, Z = Column("x", INTEGER), Column("y", INTEGER), Column("z", DOUBLE)
LAST = 60


def call(name: str, *arguments: Expression, kind: pa.DataType = BOOLEAN) -> Call:
    return Call(name, arguments, kind)


def number(value: int) -> Literal:
    return Literal(value, INTEGER)


def of_time(rng: Random, depth: int = 2) -> Expression:
    """A whole number that may read Now, once."""
    plain = rng.choice((X, Y, number(rng.randint(-4, 9))))
    if depth == 0 or rng.random() < 0.3:
        return NOW_COLUMN
    inner = of_time(rng, depth - 1)
    match rng.randrange(5):
        case 0:
            return call("+", *rng.sample((inner, plain), 2), kind=INTEGER)
        case 1:
            return call("-", *rng.sample((inner, plain), 2), kind=INTEGER)
        case 2:
            return call("neg", inner, kind=INTEGER)
        case 3:
            return call("*", *rng.sample((inner, plain), 2), kind=INTEGER)
    return call("div", inner, number(rng.choice((-3, 2, 3))), kind=INTEGER)


def comparison(rng: Random) -> Expression:
    sign = rng.choice(("=", "<>", "<", "<=", ">", ">="))
    sides = [of_time(rng), rng.choice((X, Y, number(rng.randint(0, 30))))]
    rng.shuffle(sides)
    return call(sign, *sides)


def condition(rng: Random, depth: int = 2) -> Expression:
    if depth == 0 or rng.random() < 0.3:
        return comparison(rng) if rng.random() < 0.8 else call(">", Z, Literal(0.5, DOUBLE))
    parts = [condition(rng, depth - 1) for _ in range(3)]
    match rng.randrange(5):
        case 0 | 1:
            return call("and", *parts[:2])
        case 2:
            return call("or", *parts[:2])
        case 3:
            return call("not", parts[0])
    return Case(((parts[0], parts[1]),), parts[2], BOOLEAN)


def some_rows(rng: Random, count: int) -> Changes:
    def whole() -> list[int | None]:
        return [None if rng.random() < 0.1 else rng.randint(-5, 30) for _ in range(count)]

    half = [rng.choice((None, 0.0, 0.25, 1.0, 7.5)) for _ in range(count)]
    rows = pa.record_batch(
        {
            "x": pa.array(whole(), INTEGER),
            "y": pa.array(whole(), INTEGER),
            "z": pa.array(half, DOUBLE),
        }
    )
    ts = np.array([rng.randint(-3, 20) for _ in range(count)], np.int64)
    stays = [rng.choice((INFINITY, rng.randint(1, 30))) for _ in range(count)]
    exp = np.array([s if s == INFINITY else t + s for t, s in zip(ts.tolist(), stays)], np.int64)
    return Changes(rows, ts, exp, np.ones(count, np.int64), np.arange(count))


def tried(test: Expression, changes: Changes, at: int) -> set[int]:
    """The rows that are there at an instant and meet the condition then."""
    instants = np.full(len(changes), at, np.int64)
    holds, _ = truth_at(test, changes.rows, instants)
    return set(changes.seq[holds & (changes.ts <= at) & (at < changes.exp)].tolist())


def present(changes: Changes, at: int) -> list[int]:
    return sorted(changes.seq[(changes.ts <= at) & (at < changes.exp)].tolist())


@pytest.mark.parametrize("seed", range(300))
def test_a_row_is_there_when_the_condition_holds(seed: int) -> None:
    rng = Random(seed)
    test, changes = condition(rng), some_rows(rng, 12)
    presence = Presence.of(test)
    if presence is None:
        return
    cut = presence.cut(changes)
    assert (cut.ts < cut.exp).all()
    for at in range(-4, LAST):
        assert present(cut, at) == sorted(tried(test, changes, at)), (str(test), at)


def test_most_conditions_are_solved() -> None:
    found = [Presence.of(condition(Random(seed))) for seed in range(300)]
    assert sum(presence is not None for presence in found) > 270
    assert sum(presence is not None and presence.bounds is None for presence in found) > 100
    assert sum(presence is not None and presence.bounds is not None for presence in found) > 25


@pytest.mark.parametrize("seed", range(60))
def test_what_retracts_a_row_is_cut_in_the_same_way(seed: int) -> None:
    """The same pieces, but for those before it: so the two cancel."""
    rng = Random(seed)
    test, changes = condition(rng), some_rows(rng, 12)
    presence = Presence.of(test)
    if presence is None:
        return
    later = changes.ts + np.array([rng.randint(0, 12) for _ in range(12)], np.int64)
    back = replace(changes, ts=later).keep(later < changes.exp)
    ends = {(seq, end) for seq, end in zip(*ends_of(presence.cut(changes)))}
    assert {(seq, end) for seq, end in zip(*ends_of(presence.cut(back)))} <= ends


def ends_of(changes: Changes) -> tuple[list[int], list[int]]:
    return changes.seq.tolist(), changes.exp.tolist()


def test_now_is_the_last_of_some_points() -> None:
    """Both ends of a stretch are at the next point: [1, 6) is [2, 6), [3, 8) is [4, 8)."""
    five = call("<", call("-", NOW_COLUMN, number(5), kind=INTEGER), X)
    since = call("<=", X, NOW_COLUMN)
    presence = Presence.of(call("and", five, since), Points.every(2, 0, 1))
    assert presence is not None
    rows = pa.record_batch({"x": pa.array([1, 3, 4], INTEGER)})
    ts = np.array([1, 3, 4], np.int64)
    never = np.full(3, INFINITY, np.int64)
    cut = presence.cut(Changes(rows, ts, never, np.ones(3, np.int64), np.arange(3)))
    assert list(zip(cut.ts.tolist(), cut.exp.tolist())) == [(2, 6), (4, 8), (4, 10)]


def test_a_number_that_is_too_large_is_unknown_for_its_row_only() -> None:
    """x * Now for x = −2^62 is too small from 4 on: it is below 100 as far as it is known."""
    product = call("*", X, NOW_COLUMN, kind=INTEGER)
    presence = Presence.of(call("<", product, number(100)))
    assert presence is not None
    rows = pa.record_batch({"x": pa.array([2**62, 10, -(2**62)], INTEGER)})
    ts = np.array([0, 0, 0], np.int64)
    never = np.full(3, INFINITY, np.int64)
    cut = presence.cut(Changes(rows, ts, never, np.ones(3, np.int64), np.arange(3)))
    assert dict(zip(cut.seq.tolist(), cut.exp.tolist())) == {0: 1, 1: 10, 2: INFINITY}


@pytest.mark.parametrize(
    "test",
    (
        call("=", call("%", NOW_COLUMN, number(3), kind=INTEGER), number(0)),
        call("<", call("*", NOW_COLUMN, NOW_COLUMN, kind=INTEGER), X),
        call("is_null", NOW_COLUMN),
    ),
)
def test_what_is_not_solved(test: Expression) -> None:
    assert Presence.of(test) is None
    assert bounds_of(test) is None
