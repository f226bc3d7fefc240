"""What is said of conditions is so: against all values of small domains."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.evaluate import holds
from millstream.algebra.expressions import Call, Cast, Column, Expression, Literal
from millstream.algebra.types import BOOLEAN, DOUBLE, INTEGER, STRING
from millstream.conditions.implications import excludes, implies

DOMAINS = {
    "x": (INTEGER, (None, -2, -1, 0, 1, 2, 3)),
    "y": (INTEGER, (None, -2, -1, 0, 1, 2, 3)),
    "d": (DOUBLE, (None, math.nan, -math.inf, -2.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0)),
    "e": (DOUBLE, (None, math.nan, -math.inf, -2.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0)),
    "w": (STRING, (None, "a", "b", "bb", "c")),
    "b": (BOOLEAN, (None, False, True)),
}
X, Y, D, E, W, B = (Column(name, kind) for name, (kind, _) in DOMAINS.items())


@lru_cache
def all_rows(names: tuple[str, ...]) -> pa.RecordBatch:
    rows = list(zip(*product(*(DOMAINS[n][1] for n in names))))
    columns = [pa.array(c, DOMAINS[n][0]) for n, c in zip(names, rows)]
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def whole(value: int) -> Literal:
    return Literal(value, INTEGER)


def real(value: float) -> Literal:
    return Literal(value, DOUBLE)


def call(name: str, *parts: Expression) -> Call:
    return Call(name, parts, BOOLEAN)


def random_condition(rng: Random, names: tuple[str, ...], depth: int = 2) -> Expression:
    kind = rng.randrange(12 if depth else 8)
    if kind >= 8:
        parts = [random_condition(rng, names, depth - 1) for _ in range(2)]
        return call("not", parts[0]) if kind == 11 else call(("and", "or", "and")[kind - 8], *parts)
    name = rng.choice(names)
    column = Column(name, DOMAINS[name][0])
    if rng.random() < 0.1:
        return call("is_null", random_number(rng, names) if name in "xyde" else column)
    op = rng.choice(("<", "<=", ">", ">=", "=", "<>"))
    if name == "w":
        return call(op, column, Literal(rng.choice(("a", "aa", "b", "c")), STRING))
    if name == "b":
        return column if rng.random() < 0.5 else call(op, column, Literal(True, BOOLEAN))
    left, right = random_number(rng, names), random_number(rng, names)
    if rng.random() < 0.5:
        right = whole(rng.randint(-2, 3)) if rng.random() < 0.5 else real(rng.choice((0, 0.75, 1)))
    if left.type != right.type:
        left, right = (e if e.type == DOUBLE else Cast(e, DOUBLE) for e in (left, right))
    return call(op, left, right)


def random_number(rng: Random, names: tuple[str, ...]) -> Expression:
    columns = [Column(n, DOMAINS[n][0]) for n in names if n in "xyde"] or [X]
    first = rng.choice(columns)
    other = rng.choice([c for c in columns if c.type == first.type])
    factor = (
        whole(rng.choice((-1, 2))) if first.type == INTEGER else real(rng.choice((0.5, 2, 1.5)))
    )
    match rng.randrange(9):
        case 0:
            return Call("-", (first, other), first.type)
        case 1 | 2:
            return Call("*", (factor, first), first.type)
        case 3:
            return Call(rng.choice("+-"), (first, factor), first.type)
        case 4 if first.type == DOUBLE:
            return Call("/", (first, factor), DOUBLE)
        case 5:
            return Call("neg", (first,), first.type)
        case 6 if first.type == INTEGER:
            return Call("+", (first, other), INTEGER)
    return first


def check(seed: int) -> tuple[int, int]:
    """One pair; whether something is so, and whether that was said."""
    rng = Random(seed)
    names = rng.choice((("x", "y"), ("d", "e"), ("x", "d"), ("x", "w"), ("w", "b"), ("y", "e")))
    one, other = (random_condition(rng, names) for _ in range(2))
    rows = all_rows(names if set("xyde") & set(names) else (*names, "x"))
    here, there = (holds(c, rows, rows.num_rows) for c in (one, other))
    told = f"{seed}: {one} and {other}"
    implied, excluded = bool(np.all(there[here])), not np.any(here & there)
    assert not implies(one, other) or implied, told
    assert not excludes(one, other) or excluded, told
    return implied + excluded, implies(one, other) + excludes(one, other)


def test_nothing_is_said_that_is_not_so() -> None:
    counts = [check(seed) for seed in range(3_000)]
    so, said = (sum(c) for c in zip(*counts))
    assert said > 0.5 * so, "most of what is so for few values is so for all, and is seen"


def conditions() -> dict[str, tuple[Expression, Expression]]:
    before, now = D, E
    part = [Call("*", (real(f), before), DOUBLE) for f in (0.98, 1.02)]
    flat = call("and", call("<=", part[0], now), call("<=", now, part[1]))
    positive = call(">", before, real(0))
    texts = [call("=", W, Literal(t, STRING)) for t in "ab"]
    both = call("or", *texts)
    return {
        "ranges": (call(">", X, whole(5)), call(">=", X, whole(6))),
        "a transitive chain": (
            call("and", call("<", X, Y), call("<", Y, whole(3))),
            call("<=", X, whole(1)),
        ),
        "one of a list": (texts[0], both),
        "a condition that is true has no NULL": (texts[0], call("not", call("is_null", W))),
        "neither of a list": (call("=", W, Literal("c", STRING)), call("not", both)),
        "a fall by 2 % of a positive price": (
            call("and", positive, call("<", now, part[0])),
            call("<", now, before),
        ),
        "a rise by 2 % is no fall": (
            call("and", positive, call(">", now, part[1])),
            call("not", call("<", now, part[0])),
        ),
        "a flat move of a positive price": (
            call("and", positive, flat),
            call("not", call("or", call("<", now, part[0]), call(">", now, part[1]))),
        ),
        "a difference": (
            call("<", Call("-", (now, before), DOUBLE), real(0)),
            call("<", now, before),
        ),
        "whole differences": (
            call(">=", Call("-", (X, Y), INTEGER), whole(2)),
            call(">", Call("-", (X, Y), INTEGER), whole(1)),
        ),
    }


@pytest.mark.parametrize("name", conditions())
def test_is_seen(name: str) -> None:
    one, other = conditions()[name]
    assert implies(one, other)
    assert excludes(one, call("not", other))


def test_a_fall_by_a_part_may_be_a_rise_below_zero() -> None:
    part = Call("*", (real(0.98), D), DOUBLE)
    assert not implies(call("<", E, part), call("<", E, D))
