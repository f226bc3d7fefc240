"""Measures: what the operators of a running job are said to take, give and keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millstream.algebra.node import Node
from millstream.database import Database
from millstream.engine.measures import Measures
from millstream.local.host import LocalHost
from millstream.operators import AntiJoin, Filter, GroupBy, Join, Range, Scan
from millstream.plan.names import name_of
from millstream.plan.statistics import share_key

STREAMS = """
CREATE STREAM bids (ts int, item int, price int) ORDER BY ts SOURCE 'bids.csv';
CREATE STREAM asks (at int, thing int) ORDER BY at SOURCE 'asks.csv';
"""
PAIRS = "SELECT STREAMED item, price FROM bids [Range 9] b, asks [Range 4] a WHERE item = thing"
ALONE = (
    "SELECT STREAMED item FROM bids [Range 9] b WHERE price % 2 = 0 AND "
    "NOT EXISTS (SELECT 1 FROM asks [Range 4] a WHERE a.thing = b.item)"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A hundred instants: two bids at each, of items 0 to 4, and an ask at every second."""
    bids = [f"{t},{(2 * t + i) % 5},{t}" for t in range(1, 101) for i in range(2)]
    asks = [f"{t},{t % 5}" for t in range(1, 101, 2)]
    (tmp_path / "bids.csv").write_text("\n".join(["ts,item,price", *bids]) + "\n")
    (tmp_path / "asks.csv").write_text("\n".join(["at,thing", *asks]) + "\n")
    return tmp_path


def run(folder: Path, *queries: str, **settings: int) -> LocalHost:
    database = Database(base=str(folder), tell=lambda text: None)
    for name, value in settings.items():
        database.pin(name, str(value))
    database.execute(STREAMS + ";".join(queries))
    host = LocalHost(database.job(), database.sources(False), [])
    host.run()
    return host


def nodes(host: LocalHost, kind: type[Node]) -> list[Node]:
    return [node for node in host.job.graph.nodes if isinstance(node, kind)]


@pytest.mark.parametrize("buckets", (1, 3))
def test_rates_and_sizes_are_those_of_the_data(folder, buckets):
    host = run(folder, PAIRS, buckets=buckets)
    statistics = host.measures.statistics(host.job.graph)
    bids, asks = sorted(nodes(host, Scan), key=lambda scan: -len(scan.schema))
    assert statistics.rates[name_of(bids)].rate == pytest.approx(2.0)
    assert statistics.rates[name_of(asks)].rate == pytest.approx(0.5)
    windows = {node.length: statistics.rates[name_of(node)] for node in nodes(host, Range)}
    assert [windows[9].size, windows[4].size] == pytest.approx([20.0, 2.5])
    (join,) = nodes(host, Join)
    found = statistics.rates[name_of(join)]
    assert found.back == 0
    pairs = 2 * 2.5 / 5 + 0.5 * 20 / 5  # one item in five of the window on the other side
    assert found.rate == pytest.approx(pairs, rel=0.2)
    assert statistics.shares[share_key(join)] == pytest.approx(1 / 5, rel=0.2)


def test_rows_in_are_the_rows_out_of_the_inputs_also_where_they_lie_in_every_bucket(folder):
    host = run(folder, PAIRS.replace("item = thing", "item < thing"), buckets=3)
    (join,) = nodes(host, Join)
    measure = host.measures.of[name_of(join)]
    assert measure.received == (200.0, 50.0)


def test_what_a_negation_takes_back_is_counted(folder):
    host = run(folder, ALONE, batch_rows=7)
    (negation,), (test,) = nodes(host, AntiJoin), nodes(host, Filter)
    statistics = host.measures.statistics(host.job.graph)
    assert statistics.rates[name_of(negation)].back > 0
    assert statistics.rates[name_of(test)].back == 0
    assert statistics.shares[share_key(test)] == pytest.approx(0.5, abs=0.1)
    assert 0 < statistics.shares[share_key(negation)] < 1


def test_open_rows_are_counted_until_they_are_taken_back(folder):
    host = run(folder, "SELECT STREAMED item, count(*) AS n FROM bids [Range 9] GROUP BY item")
    (groups,) = nodes(host, GroupBy)
    assert host.measures.of[name_of(groups)].opened == 5
    host = run(folder, PAIRS, batch_rows=7)
    (join,) = nodes(host, Join)
    assert host.measures.of[name_of(join)].opened == 0


def test_the_present_counts_more_than_the_past(folder):
    lines = ["ts,item,price", *(f"{t},1,1" for t in range(1, 1001))]
    lines += [f"{t},1,1" for t in range(1001, 1101) for _ in range(20)]
    (folder / "bids.csv").write_text("\n".join(lines) + "\n")
    host = run(folder, "SELECT STREAMED item FROM bids [Range 9]", batch_rows=200)
    (scan,) = nodes(host, Scan)
    assert host.measures.statistics(host.job.graph).rates[name_of(scan)].rate > 6


def test_measures_are_the_same_after_being_written(folder):
    host = run(folder, PAIRS, ALONE, batch_rows=9)
    again = Measures.from_json(json.loads(json.dumps(host.measures.to_json())))
    assert again.of.keys() == host.measures.of.keys()
    for name, measure in host.measures.of.items():
        assert again.of[name].numbers == measure.numbers
