"""An aggregate is one value: it is added in one file and one line, or held by a catalog."""

from __future__ import annotations

import pickle
import random
from functools import reduce
from operator import xor

import numpy as np
import pyarrow as pa
import pytest

from aggregates.bit_xor import BIT_XOR
from aggregates.spread import SPREAD
from millstream.aggregates import builtin
from millstream.aggregates.aggregate import Aggregate
from millstream.algebra.changes import Changes
from millstream.algebra.node import Node, walk
from millstream.algebra.time import DAWN, Span
from millstream.algebra.types import INTEGER, STRING
from millstream.bind.queries.query import bind_query
from millstream.catalog import Catalog, Stream
from millstream.errors import MillstreamError
from millstream.lang import parse_script
from millstream.operators import GroupBy, Scan
from millstream.plan.text import parse_plan
from millstream.testing.run import run_script

LAST, LENGTH = 30, 4
S = Stream("s", (("ts", INTEGER), ("k", STRING), ("x", INTEGER)), "ts")
QUERY = f"SELECT k, {{call}} AS y FROM s [Range {LENGTH}] GROUP BY k;"


@pytest.fixture
def rows() -> list[tuple[int, str, int | None]]:
    chance = random.Random(7)
    values = [None, 0, 1, 2, 3, 9, -4, 2**40]
    found = [
        (chance.randint(1, LAST), chance.choice("ab"), chance.choice(values)) for _ in range(40)
    ]
    return sorted([*found, (LAST, "b", 1)], key=lambda row: row[0])


@pytest.fixture
def added(monkeypatch):
    """The line that adds it, taken away again after the test."""
    monkeypatch.setattr(builtin, "BUILTINS", (*builtin.BUILTINS, BIT_XOR))


def expected(rows, instant: int, value) -> dict[str, int | None]:
    present: dict[str, list[int]] = {}
    for ts, key, x in rows:
        if ts <= instant <= ts + LENGTH:
            present.setdefault(key, []).extend([] if x is None else [x])
    return {key: value(found) if found else None for key, found in present.items()}


def of_xor(values: list[int]) -> int:
    return reduce(xor, values)


def of_xor_once(values: list[int]) -> int:
    return reduce(xor, set(values))


def of_spread(values: list[int]) -> int:
    return max(values) - min(values)


@pytest.mark.parametrize("batch_rows", ["1", "7", "1000"])
@pytest.mark.parametrize(
    ("call", "value"),
    [("bit_xor(x)", of_xor), ("XOR_AGG(x)", of_xor), ("bit_xor(DISTINCT x)", of_xor_once)],
)
def test_one_file_and_one_line_add_an_aggregate(added, rows, tmp_path, call, value, batch_rows):
    lines = [f"{ts},{key},{'' if x is None else x}" for ts, key, x in rows]
    (tmp_path / "s.csv").write_text("\n".join(["ts,k,x", *lines, ""]))
    script = "CREATE STREAM s (ts int, k string, x int) ORDER BY ts SOURCE 's.csv';"
    streamed = QUERY.format(call=call).replace("SELECT", "SELECT STREAMED", 1)
    told = run_script(f"{script} {streamed}", tmp_path, {"batch_rows": batch_rows})["q1"]
    shown: dict[str, int | None] = {}
    changes = told.to_pylist()
    for instant in range(1, LAST + 1):
        for change in (c for c in changes if c["ts"] == instant):
            shown.pop(change["k"], None)
            if change["op"] != "-":
                shown[change["k"]] = change["y"]
        assert shown == expected(rows, instant, value), instant


def test_what_was_added_is_gone_again(rows):
    with pytest.raises(MillstreamError, match='function "bit_xor" does not exist'):
        bound("bit_xor(x)", Catalog())


def bound(call: str, catalog: Catalog) -> GroupBy:
    if "s" not in catalog.entries:
        catalog.add(S)
    text = QUERY.format(call=call)
    (statement,) = parse_script(text)
    plan = bind_query(statement.query, catalog, text).plan
    return next(node for node in walk(plan) if isinstance(node, GroupBy))


def step(node: Node, states: dict[Node, dict], changes: Changes, span: Span) -> Changes:
    """What a chain of operators over one scan makes of the changes."""
    if isinstance(node, Scan):
        return changes
    below = step(node.inputs[0], states, changes, span).plain()
    states[node], out = node.step(states.get(node, {}), below, span)
    return out


@pytest.mark.parametrize("cut", [[], [5, 6, 20], list(range(1, LAST))])
def test_a_catalog_holds_an_aggregate(rows, cut):
    catalog = Catalog()
    catalog.add_aggregate(SPREAD)
    node, states, parts = bound("Spread(x)", catalog), {}, []
    ts = np.array([row[0] for row in rows], np.int64)
    columns = [pa.array(column, f.type) for column, f in zip(zip(*rows), S.schema)]
    batch = pa.RecordBatch.from_arrays(columns, schema=S.schema)
    changes = Changes.elements(batch, ts, np.arange(1, len(rows) + 1))
    for start, end in zip([DAWN, *cut], [*cut, LAST]):
        inside = changes.keep((changes.ts > start) & (changes.ts <= end))
        parts.append(step(node, states, inside, Span(start, end, 1)).plain())
    for instant in range(1, LAST + 1):
        shown: dict[tuple, int] = {}
        for part in parts:
            times = zip(part.rows.to_pylist(), part.ts, part.exp, part.weight)
            for row, begin, stop, weight in times:
                if begin <= instant < stop:
                    shown[tuple(row.values())] = shown.get(tuple(row.values()), 0) + int(weight)
        present = {row for row, count in shown.items() if count}
        assert present == set(expected(rows, instant, of_spread).items()), instant


def test_what_a_catalog_holds_comes_before_a_built_in():
    mine = Aggregate("sum", "sum(x)", "mine", SPREAD.result, SPREAD.way, definition="mine")
    catalog = Catalog()
    before = bound("sum(x)", catalog)
    catalog.add_aggregate(mine)
    after = bound("sum(x)", catalog)
    assert before.text == after.text
    assert before != after and before.fingerprint != after.fingerprint
    assert parse_plan(after.text, catalog) == after
    with pytest.raises(MillstreamError, match='aggregate "sum" exists already'):
        catalog.add_aggregate(mine)


def test_fingerprints_follow_the_digest():
    one, other = Catalog(), Catalog()
    one.add_aggregate(SPREAD)
    changed = Aggregate(**{**vars_of(SPREAD), "definition": "another text"})
    other.add_aggregate(changed)
    assert changed != SPREAD and SPREAD.digest != changed.digest
    assert bound("spread(x)", one).fingerprint != bound("spread(x)", other).fingerprint


def vars_of(aggregate: Aggregate) -> dict:
    return {name: getattr(aggregate, name) for name in Aggregate.__dataclass_fields__}


def test_a_plan_with_an_aggregate_can_be_sent_away(added):
    for aggregate in (*builtin.BUILTINS, SPREAD):
        again = pickle.loads(pickle.dumps(aggregate))
        assert again == aggregate and again.of_distinct() == aggregate.of_distinct()
        assert type(again.way) is type(aggregate.way)
    assert pickle.loads(pickle.dumps(bound("bit_xor(x)", Catalog()))).depends_on_order is False


def test_groups_say_whether_order_matters():
    catalog = Catalog()
    catalog.add_aggregate(Aggregate(**{**vars_of(SPREAD), "order_matters": True}))
    assert bound("spread(x)", catalog).depends_on_order
    assert not any(a.order_matters for a in builtin.BUILTINS)


def test_names_are_given_once():
    names = [name for a in builtin.BUILTINS for name in (a.name, *a.aliases)]
    assert len(names) == len(set(names))
    digests = {a.digest for one in builtin.BUILTINS for a in (one, one.once) if a is not None}
    in_plans = {a.name for one in builtin.BUILTINS for a in (one, one.once) if a is not None}
    assert len(digests) == len(in_plans)
