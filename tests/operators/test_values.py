"""Aggregates that keep values, against lists that are made anew at every instant."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from millstream.aggregates.builtin import named
from millstream.aggregates.call import AggregateCall
from millstream.algebra.changes import Changes
from millstream.algebra.time import DAWN, INFINITY, Domain, Span
from millstream.operators import GroupBy, Scan
from millstream.operators.stamp import STAMPS

COLUMNS = (
    ("item", pa.string()),
    ("price", pa.int64()),
    ("rate", pa.float64()),
    ("names", pa.list_(pa.string())),
    ("dear", pa.bool_()),
    *((name, pa.int64()) for name in STAMPS),
)
KIND = dict(COLUMNS)
BIDS = Scan("bids", COLUMNS, Domain.INTEGER, "")
LAST = 25


def null_first(value: object) -> tuple:
    if isinstance(value, list):
        return (True, [null_first(v) for v in value])
    return (value is not None, value)


def known(rows: list[dict], name: str) -> list:
    return [row[name] for row in rows if row[name] is not None]


def by_time(rows: list[dict], name: str) -> list:
    rows = sorted(rows, key=lambda r: (r["#instant"], r["#arrival"], null_first(r[name])))
    return [row[name] for row in rows]


def listed(values: list) -> list | None:
    return values or None


def different(values: list) -> list:
    found: list = []
    for value in sorted(values, key=null_first):
        if not found or found[-1] != value:
            found.append(value)
    return found


def joined(values: list, between: str) -> str | None:
    return between.join(v for v in values if v is not None) if known_of(values) else None


def known_of(values: list) -> list:
    return [v for v in values if v is not None]


def mean(values: list) -> float | None:
    return sum(values) / len(values) if values else None


def total(values: set) -> int | None:
    return sum(values) if values else None


def by(rows: list[dict], choose: Callable) -> object:
    pairs = [(r["price"], null_first(r["item"])) for r in rows if r["price"] is not None]
    return choose(pairs)[1][1] if pairs else None


def truth(values: list, test: Callable) -> bool | None:
    return test(values) if values else None


CASES: list[tuple[str, tuple[str, ...], Callable[[list[dict]], object]]] = [
    ("array_agg", ("price", *STAMPS), lambda r: listed(by_time(r, "price"))),
    ("array_agg", ("names", *STAMPS), lambda r: listed(by_time(r, "names"))),
    ("array_agg", ("rate",), lambda r: listed(sorted((x["rate"] for x in r), key=null_first))),
    ("array_agg_distinct", ("names",), lambda r: listed(different([x["names"] for x in r]))),
    ("collect_set", ("price",), lambda r: listed(different(known(r, "price")))),
    ("string_agg", ("item", *STAMPS), lambda r: joined(by_time(r, "item"), ";")),
    ("string_agg_distinct", ("item",), lambda r: joined(different(known(r, "item")), ";")),
    (
        "sum_distinct",
        ("price",),
        lambda r: sum(set(known(r, "price"))) if known(r, "price") else None,
    ),
    ("avg_distinct", ("rate",), lambda r: mean(different(known(r, "rate")))),
    ("count_distinct", ("names",), lambda r: len(different(known(r, "names")))),
    ("min_by", ("item", "price"), lambda r: by(r, min)),
    ("max_by", ("item", "price"), lambda r: by(r, max)),
    ("bool_and", ("dear",), lambda r: truth(known(r, "dear"), all)),
    ("bool_or", ("dear",), lambda r: truth(known(r, "dear"), any)),
]


def history(chance: random.Random, size: int) -> list[tuple[dict, int, int, int, int]]:
    """Rows as (values, seq, ts, exp, weight), some of them taken away early."""
    rows = []
    for seq in range(size):
        ts = chance.randrange(LAST)
        price = chance.choice([None, 1, 2, 3])
        values = {
            "item": chance.choice(["pen", "ink", None]),
            "price": price,
            "rate": chance.choice([None, 0.5, 1.5, 2.5]),
            "names": chance.choice([None, [], ["a"], ["a", None], ["b"]]),
            "dear": None if price is None else price > 1,
            "#instant": ts,
            "#arrival": seq // 2,
        }
        exp = INFINITY if chance.random() < 0.4 else ts + chance.randint(1, 12)
        weight = chance.randint(1, 2)
        rows.append((values, seq, ts, exp, weight))
        leave = ts + chance.randint(1, 10)
        if leave < exp and chance.random() < 0.5:
            rows.append((values, seq, leave, exp, -chance.randint(1, weight)))
    return rows


def changes_of(rows: list[tuple]) -> Changes:
    columns = [pa.array([r[0][name] for r in rows], kind) for name, kind in COLUMNS]
    times = [np.array([r[i] for r in rows], np.int64) for i in (2, 3, 4, 1)]
    return Changes(pa.RecordBatch.from_arrays(columns, list(KIND)), *times)


def run(node: GroupBy, rows: list[tuple], cuts: list[int]) -> list[tuple]:
    state, out, start = {}, [], DAWN
    for end in cuts:
        given = changes_of([r for r in rows if start < r[2] <= end])
        state, told = node.step(state, given, Span(start, end, 0))
        told = told.plain()
        values = list(zip(*[column.to_pylist() for column in told.rows.columns]))
        out += zip(values, told.ts.tolist(), told.exp.tolist(), told.weight.tolist())
        start = end
    return out


def content(out: list[tuple], instant: int) -> list[str]:
    found: dict[str, int] = {}
    for values, ts, exp, weight in out:
        if ts <= instant < exp:
            found[repr(values)] = found.get(repr(values), 0) + weight
    return sorted(text for text, count in found.items() for _ in range(count))


def expected(rows: list[tuple], key: str | None, value: Callable, instant: int) -> list[str]:
    present: dict[object, list[dict]] = {} if key else {None: []}
    for values, seq, ts, exp, weight in rows:
        if weight > 0 and ts <= instant < exp:
            gone = sum(w for _, s, t, _, w in rows if s == seq and w < 0 and t <= instant)
            group = values[key] if key else None
            present.setdefault(group, []).extend([values] * (weight + gone))
    shown = [((group,) if key else (), value(r)) for group, r in present.items() if r or not key]
    return sorted(repr((*group, result)) for group, result in shown)


@pytest.mark.parametrize("key", ["item", None])
@pytest.mark.parametrize(
    ("function", "arguments", "value"), CASES, ids=[f"{c[0]} of {c[1][0]}" for c in CASES]
)
def test_values_at_every_instant(function, arguments, value, key):
    aggregate = named(function)
    kind = aggregate.result(KIND[arguments[0]])
    parameter = ";" if function.startswith("string_agg") else None
    call = AggregateCall("x", aggregate, arguments, kind, parameter)
    node = GroupBy((key,) if key else (), (call,), BIDS)
    chance = random.Random(f"{function} {arguments} {key}")
    for size in (10, 40):
        rows = history(chance, size)
        wanted = [expected(rows, key, value, t) for t in range(LAST + 14)]
        for _ in range(3):
            cuts = [*sorted(chance.sample(range(LAST + 13), chance.randint(0, 9))), LAST + 13]
            out = run(node, rows, cuts)
            assert [content(out, t) for t in range(LAST + 14)] == wanted
