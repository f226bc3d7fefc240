"""Operators with two inputs against their definition, instant by instant, however steps are cut."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from laws.scale import SCALE
from millstream.algebra.changes import Changes
from millstream.algebra.expressions import TRUE, Call, Column, conjunction
from millstream.algebra.time import INFINITY, Domain, Span
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.operators import (
    AntiJoin,
    DeltaStar,
    Distinct,
    Intersect,
    Join,
    Minus,
    Scan,
    SemiJoin,
    UnionAll,
)

LAST = 30


def scan(*names):
    return Scan("_".join(names), tuple((n, INTEGER) for n in names), Domain.INTEGER, "x")


LEFT, RIGHT = scan("a", "b"), scan("c", "d")
KEYED = Call("=", (Column("a", INTEGER), Column("c", INTEGER)), BOOLEAN)
NULL_SAFE = Call(
    "not",
    (Call("distinct_from", (Column("a", INTEGER), Column("c", INTEGER)), BOOLEAN),),
    BOOLEAN,
)
LESS = Call("<", (Column("b", INTEGER), Column("d", INTEGER)), BOOLEAN)
CONDITIONS = {
    "cross": TRUE,
    "keyed": KEYED,
    "null_safe": NULL_SAFE,
    "less": LESS,
    "keyed_less": conjunction([KEYED, LESS]),
}


def meets(name, left, right):
    (a, b), (c, d) = left, right
    equal = a is not None and c is not None and a == c
    less = b is not None and d is not None and b < d
    return {
        "cross": True,
        "keyed": equal,
        "null_safe": a == c,
        "less": less,
        "keyed_less": equal and less,
    }[name]


def history(rng, count):
    """Rows that come, and some that leave before their time: (ts, exp, weight, seq, row)."""
    made = []
    for seq in range(count):
        row = tuple(rng.choice([None, 0, 1, 2]) for _ in range(2))
        ts = rng.randint(1, LAST)
        exp = rng.choice([INFINITY, ts + rng.randint(1, 12)])
        made.append((ts, exp, 1, seq, row))
        while rng.random() < 0.4 and ts + 1 < min(exp, LAST):
            ts = rng.randint(ts + 1, min(exp - 1, LAST))
            sign = -made[-1][2]
            made.append((ts, exp, sign, seq, row))
    return made


def content(made, at):
    bag = Counter()
    for ts, exp, weight, _, row in made:
        if ts <= at < exp:
            bag[row] += weight
    return +bag


def changes(made, schema, span):
    rows = sorted((m for m in made if span.start < m[0] <= span.end), key=lambda m: m[0])
    columns = list(zip(*(m[4] for m in rows))) or [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema)]
    numbers = [np.array([m[i] for m in rows], np.int64) for i in range(4)]
    return Changes(pa.RecordBatch.from_arrays(arrays, schema=schema), *numbers)


def run(node, inputs, cuts):
    """All output rows as (ts, exp, weight, seq, row), step by step."""
    state, out = {}, []
    for start, end in zip([0, *cuts], [*cuts, LAST]):
        span = Span(start, end, 1)
        given = [changes(m, i.schema, span) for m, i in zip(inputs, node.inputs)]
        state, told = node.step(state, *given, span)
        assert ((told.ts > start) & (told.ts <= end)).all()
        assert (told.exp > told.ts).all()
        rows = zip(*(c.to_pylist() for c in told.rows.columns))
        out += zip(
            told.ts.tolist(), told.exp.tolist(), told.weight.tolist(), told.seq.tolist(), rows
        )
    return out


def check(node, inputs, rng, expected):
    for _ in range(2):
        cuts = sorted(rng.sample(range(1, LAST), rng.randint(0, 8)))
        told = run(node, inputs, cuts)
        for at in range(1, LAST + 1):
            bags = [content(made, at) for made in inputs]
            assert content(told, at) == +Counter(expected(*bags)), (at, cuts, inputs)


@pytest.mark.parametrize("seed", range(60 * SCALE))
@pytest.mark.parametrize("name", CONDITIONS)
def test_joins(seed, name):
    rng = random.Random(f"{name}{seed}")
    inputs = [history(rng, rng.randint(0, 12)) for _ in range(2)]
    condition = CONDITIONS[name]

    def joined(left, right):
        return {
            a + b: n * m for a, n in left.items() for b, m in right.items() if meets(name, a, b)
        }

    def partners(row, right):
        return any(meets(name, row, r) for r in right)

    check(Join(condition, LEFT, RIGHT), inputs, rng, joined)
    check(
        SemiJoin(condition, LEFT, RIGHT),
        inputs,
        rng,
        lambda left, right: {row: n for row, n in left.items() if partners(row, right)},
    )
    check(
        AntiJoin(condition, LEFT, RIGHT),
        inputs,
        rng,
        lambda left, right: {row: n for row, n in left.items() if not partners(row, right)},
    )


@pytest.mark.parametrize("seed", range(60 * SCALE))
def test_sets(seed):
    rng = random.Random(seed)
    inputs = [history(rng, rng.randint(0, 14)) for _ in range(2)]
    check(UnionAll(LEFT, RIGHT), inputs, rng, lambda left, right: left + right)
    check(Intersect(LEFT, RIGHT), inputs, rng, lambda left, right: left & right)
    check(Minus(LEFT, RIGHT), inputs, rng, lambda left, right: left - right)
    check(Distinct(LEFT), inputs[:1], rng, lambda left: dict.fromkeys(left, 1))
    grown = [[m for m in inputs[0] if m[2] > 0 and all(m[3] != n[3] or m is n for n in inputs[0])]]
    check(DeltaStar(LEFT), grown, rng, lambda left: dict.fromkeys(left, 1))
