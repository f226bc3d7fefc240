"""Points against sets of numbers, and conditions on the clock against trying every tick."""

from __future__ import annotations

import datetime as dt
import random

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.clock_conditions import points_where
from millstream.algebra.evaluate import holds
from millstream.algebra.points import LAST, Points, TooMany
from millstream.algebra.time import INFINITY, Domain
from millstream.algebra.types import INTEGER, TIMESTAMP
from millstream.plan.expression_text import Tokens, parse_expression

LOW, HIGH = -100, 200
SECOND = 1_000_000


def random_points(rng: random.Random, depth: int = 3) -> Points:
    if depth == 0 or rng.random() < 0.3:
        return Points.every(rng.choice((1, 2, 3, 4, 5, 6, 10)), rng.randrange(10), 1)
    if rng.random() < 0.3:
        first = rng.randrange(-30, 30)
        last = first + rng.randrange(40) if rng.random() < 0.5 else LAST
        return Points.between(first, last, 1)
    a, b = random_points(rng, depth - 1), random_points(rng, depth - 1)
    return rng.choice((lambda: a & b, lambda: a | b, lambda: a - b, lambda: ~a))()


def members(points: Points, low: int = LOW, high: int = HIGH) -> set[int]:
    return set(points.within(low - 1, high).tolist())


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_points_are_sets(start: int) -> None:
    everything = set(range(LOW, HIGH + 1))
    for seed in range(start, start + 100):
        rng = random.Random(seed)
        a, b = random_points(rng), random_points(rng)
        mine, theirs = members(a), members(b)
        assert members(a & b) == mine & theirs
        assert members(a | b) == mine | theirs
        assert members(a - b) == mine - theirs
        assert members(~a) == everything - mine
        assert not a.contains(b) or theirs <= mine
        assert a.contains(a & b) and (a | b).contains(b)
        assert (a.contains(b) and b.contains(a)) == (not ((a - b) | (b - a)).stretches)


def test_the_point_of_an_instant_is_the_first_one_at_or_after_it() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        points = random_points(rng)
        instants = np.array([*rng.sample(range(-50, 100), 10), INFINITY])
        there = sorted(members(points, -60, 1_000))
        for instant, found in zip(instants.tolist(), points.from_on(instants).tolist()):
            wanted = next((t for t in there if t >= instant), INFINITY)
            assert found == wanted or found > 1_000


def test_points_are_written_in_one_way() -> None:
    assert Points.every(2, 0, 1) & Points.every(3, 0, 1) == Points.every(6, 0, 1)
    assert Points.every(4, 1, 1) | Points.every(4, 3, 1) == Points.every(2, 1, 1)
    assert (Points.every(2, 0, 1) | Points.every(2, 1, 1)).is_every_instant
    assert Points.every(4, 1, 1) & Points.every(2, 0, 1) == Points.none(1)


def test_what_would_be_too_long_to_write_is_no_arithmetic() -> None:
    with pytest.raises(TooMany):
        Points.every(1_000_003, 0, 1) | Points.every(999_983, 0, 1)


def number(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.4:
        return "t"
    inner, other = number(rng, depth - 1), number(rng, depth - 1)
    return rng.choice(
        (
            f"({inner} % {rng.choice((2, 3, 4, 5, 7, -3))})",
            f"({inner} + {rng.randrange(-9, 9)})",
            f"({inner} - {other})",
            f"{rng.randrange(-20, 20)}",
            f"abs({inner})",
        )
    )


def condition(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.4:
        operator = rng.choice(("=", "<>", "<", "<=", ">", ">="))
        other = number(rng, 1) if rng.random() < 0.4 else str(rng.randrange(-10, 10))
        return f"{number(rng, 2)} {operator} {other}"
    a, b = condition(rng, depth - 1), condition(rng, depth - 1)
    return rng.choice((f"({a} and {b})", f"({a} or {b})", f"not({a})"))


def test_conditions_on_the_clock_hold_at_their_points() -> None:
    ticks, seen = np.arange(LOW, HIGH + 1), 0
    rows = pa.record_batch([pa.array(ticks)], names=["t"])
    for seed in range(1_000):
        text = condition(random.Random(seed), 3)
        found = parse_expression(Tokens(text), pa.schema({"t": INTEGER}))
        points = points_where(found, "t", 1)
        if points is not None:
            seen += 1
            assert members(points) == set(ticks[holds(found, rows, len(ticks))].tolist()), text
    assert seen > 400


BEGIN = (dt.datetime(2024, 4, 30) - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)
ON_TIMES = {
    "t % 300 = 0": "every 5 minutes",
    "minute(t) % 5 = 0 and second(t) = 0": "every 5 minutes",
    "date_trunc('hour', t) = t": "every 1 hour",
    "hour(t) >= 9 and hour(t) < 11 and t % 1800 = 0": (
        "every 1 day at 9 hours to 630 minutes by 30 minutes"
    ),
    "t >= timestamp '2024-05-01 10:00:00' and t % 10 = 0": (
        "every 10 seconds from '2024-05-01 10:00:00'"
    ),
    "dayofweek(t) = 2 and date_trunc('day', t) = t": "every 1 week at 4 days",
    "unix_seconds(t + interval '0.5' second) % 60 = 7": None,
    "t - timestamp '2024-05-01 10:00:00' < interval '90' second"
    " and t > timestamp '2024-05-01 10:00:00'": (
        "every 1 second from '2024-05-01 10:00:01' until '2024-05-01 10:01:29'"
    ),
    "t % 31536000 = 0": "every 365 days",
    "month(t) = 1": None,
    "t = timestamp '2024-05-01 10:00:00.5'": "never",
}


@pytest.mark.parametrize("text", ON_TIMES)
def test_conditions_on_times(text: str) -> None:
    found = parse_expression(Tokens(text), pa.schema({"t": TIMESTAMP}))
    points = points_where(found, "t", SECOND)
    words = ON_TIMES[text]
    if points is None:
        assert words is None
        return
    ticks = np.arange(BEGIN, BEGIN + 200_000) * SECOND
    rows = pa.record_batch([pa.array(ticks).cast(TIMESTAMP)], names=["t"])
    there = ticks[holds(found, rows, len(ticks))].tolist()
    assert points.within(int(ticks[0]) - 1, int(ticks[-1])).tolist() == there
    assert words is None or points.words(Domain.TIMESTAMP) == words
