"""The law of Partial: fewer rows that come to the same counts, sums, averages and ends."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from millstream.aggregates.builtin import named
from millstream.aggregates.call import AggregateCall
from millstream.algebra.changes import Changes
from millstream.algebra.time import DAWN, Domain, Span
from millstream.algebra.types import DATE, INTEGER, STRING, TIMESTAMP
from millstream.operators import Partial, Scan

SPAN = Span(DAWN, DAWN, None)
COLUMNS = (
    ("key", STRING),
    ("summed", INTEGER),
    ("ended", INTEGER),
    ("both", INTEGER),
    ("counted", STRING),
    ("day", DATE),
    ("time", TIMESTAMP),
)
CALLS = tuple(
    AggregateCall(f"{function}_{name}", named(function), (name,), dict(COLUMNS)[name])
    for name, functions in {
        "summed": ("sum", "avg", "count"),
        "ended": ("min", "max"),
        "both": ("sum", "min", "max"),
        "counted": ("count",),
        "day": ("min",),
        "time": ("max",),
    }.items()
    for function in functions
)


def scan(names: list[str]) -> Scan:
    kept = tuple(column for column in COLUMNS if column[0] in names)
    return Scan("s", kept, Domain.INTEGER, "")


def random_changes(rng: np.random.Generator, node: Scan, count: int, nulls: float) -> Changes:
    ts = np.sort(rng.integers(0, max(count // 200, 1), count))
    values = {
        "key": [str(k) for k in rng.integers(0, 2, count)],
        "counted": [f"t{k}" for k in rng.integers(0, 50, count)],
        "day": [dt.date(2024, 1, 1) + dt.timedelta(int(k)) for k in rng.integers(-9, 9, count)],
        "time": [dt.datetime(2024, 1, 1, 0, 0, int(k)) for k in rng.integers(0, 50, count)],
    }
    arrays = []
    for name, kind in node.columns:
        given = values.get(name, rng.integers(-1000, 1000, count).tolist())
        gone = rng.random(count) < nulls
        arrays.append(pa.array([None if g else v for v, g in zip(given, gone)], kind))
    rows = pa.RecordBatch.from_arrays(arrays, schema=node.schema)
    weight = rng.choice((1, 1, 2), count) * np.where(ts % 3 == 2, -1, 1)
    return Changes(rows, ts, ts + 5 + ts % 2, weight, np.arange(count))


def totals(changes: Changes, keys: tuple[str, ...]) -> dict[tuple, dict]:
    """For every key and lifetime: the weight, and of every column its count, sum and ends."""
    found: dict[tuple, dict] = {}
    rows = changes.rows.to_pylist() if changes.rows.num_columns else [{}] * len(changes)
    for row, ts, exp, weight in zip(rows, changes.ts, changes.exp, changes.weight):
        at = (*(row[k] for k in keys), int(ts), int(exp), bool(weight > 0))
        total = found.setdefault(at, {"*": 0})
        total["*"] += int(weight)
        for name, value in row.items():
            if name in keys or value is None:
                continue
            count, low, high, added = total.get(name, (0, value, value, 0))
            added += int(weight) * value if isinstance(value, int) else 0
            total[name] = (count + int(weight), min(low, value), max(high, value), added)
    return found


def comparable(found: dict[tuple, dict]) -> dict[tuple, dict]:
    """What the calls ask for."""
    parts = {"summed": (0, 3), "ended": (0, 1, 2), "both": (0, 1, 2, 3), "counted": (0,)}
    return {
        at: {
            name: tuple(total[i] for i in parts.get(name, (0, 1, 2))) if name != "*" else total
            for name, total in of.items()
        }
        for at, of in found.items()
    }


@pytest.mark.parametrize("nulls", (0.0, 0.3, 1.0))
@pytest.mark.parametrize("keys", ((), ("key",)))
@pytest.mark.parametrize(
    "names", ([], ["summed"], ["both", "counted"], [name for name, _ in COLUMNS[1:]])
)
def test_totals_stay_the_same(keys, names, nulls):
    rng = np.random.default_rng(7)
    source = scan([*keys, *names])
    node = Partial(keys, CALLS, source)
    fewer = 0
    for count in (0, 1, 5, 200, 3000):
        changes = random_changes(rng, source, count, nulls)
        _, out = node.step({}, changes, SPAN)
        assert comparable(totals(out, keys)) == comparable(totals(changes, keys))
        assert out.schema.equals(changes.schema)
        fewer += len(out) < len(changes)
    assert fewer


def test_rows_that_share_no_instant_stay_as_they_are():
    source = scan(["summed"])
    ts = np.arange(1000)
    ones = np.ones(1000, np.int64)
    rows = pa.RecordBatch.from_arrays([pa.array(ts)], schema=source.schema)
    changes = Changes(rows, ts, ts + 1, ones, ts)
    assert Partial((), CALLS, source).step({}, changes, SPAN)[1] is changes


def test_sums_that_do_not_fit_are_left_to_the_group():
    source = scan(["summed"])
    ts = np.zeros(100, np.int64)
    rows = pa.RecordBatch.from_arrays([pa.array([2**62] * 100)], schema=source.schema)
    changes = Changes(rows, ts, ts + 1, np.ones(100, np.int64), ts)
    assert Partial((), CALLS, source).step({}, changes, SPAN)[1] is changes
