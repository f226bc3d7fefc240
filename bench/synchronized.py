"""Synchronized relations: what is handed on, and what it costs, by how far the points are apart."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node, walk
from millstream.algebra.time import Span
from millstream.database import Database
from millstream.engine.evaluation import read_scan
from millstream.engine.hot_keys import HotKeys
from millstream.engine.job import Job
from millstream.engine.level import Level
from millstream.operators import GroupBy, Sync
from millstream.state.chunks import State

ROWS, PER_UNIT, ITEMS, PRICES = 1_000_000, 1_000, 2_000, 500
"""So many rows, a thousand in every unit of time, each a new price of one of some items."""

BATCH = 100_000
PERIODS = (1, 5, 20, 100, 300)
SCRIPT = """
CREATE STREAM bids (ts bigint, item bigint, price bigint) ORDER BY ts;
CREATE VIEW latest AS SELECT STREAMED item, last(price) AS price FROM bids GROUP BY item;
"""
QUERIES = {
    "items at each price": (
        "latest",
        "SELECT STREAMED price, count(*) AS items, min(item) AS first, avg(item) AS mean "
        "FROM {of} GROUP BY price;",
    ),
    "sum and count per item": (
        "bids",
        "SELECT STREAMED item, sum(price) AS total, count(*) AS n FROM {of} GROUP BY item;",
    ),
}
"""Over a view whose keys change: every update moves an item from one group to another. And over a
stream, whose rows only become more."""


@dataclass(frozen=True)
class Cost:
    """CPU seconds of all operators, and of those above what is synchronized; the rows that these
    get, the changes that come out, and what waits at most."""

    seconds: float
    above: float
    handed_on: int
    emitted: int
    most_kept: int


def costs(view: str, query: str) -> dict[str, Cost]:
    """The cost of a query for every period, and without points."""
    run(query.format(of=f"R({view})"))
    found = {"every change": run(query.format(of=f"R({view})"))}
    for period in PERIODS:
        found[f"every {period}"] = run(query.format(of=f"R({view}, points)"), period)
    return found


def run(query: str, period: int = 1) -> Cost:
    """A query over all rows, batch by batch, in one bucket and nothing around it."""
    job = _job(query, period)
    border = _border(job)
    graph, states = job.graph, dict[str, State]()
    (root,) = graph.roots
    rows = _rows()
    seconds, above, handed, emitted, kept = 0.0, 0.0, 0, 0, 0
    for begin in range(0, ROWS, BATCH):
        first, last = int(rows.ts[begin]), int(rows.ts[begin + BATCH - 1])
        spans = dict.fromkeys(graph.nodes, Span(first - 1, last, 0))
        level = Level(graph, 0, 1, spans, partial(_loaded, states), HotKeys())
        for scans in graph.scans.values():
            there = rows.slice(begin, begin + BATCH)
            level.received |= {scan: read_scan(scan, there) for scan in scans}
        started = time.process_time()
        below = [e for e in graph.exchanges if e in set(walk(border))]
        for exchange in below:
            level.received[exchange] = level.output(exchange.input)
        handed += len(level.output(border))
        middle = time.process_time()
        for exchange in graph.exchanges:
            if exchange not in below:
                level.received[exchange] = level.output(exchange.input)
        emitted += len(level.output(root))
        ended = time.process_time()
        seconds, above = seconds + ended - started, above + ended - middle
        states |= level.states
        kept = max(kept, _kept(states, border))
    return Cost(seconds, above, handed, emitted, kept)


def _job(query: str, period: int) -> Job:
    database = Database(tell=lambda text: None)
    database.execute(SCRIPT)
    database.execute(
        f"CREATE VIEW points AS SELECT Timepoint FROM clockStr WHERE Timepoint % {period} = 0;"
    )
    database.execute("CREATE VIEW answer AS " + query)
    job = database.job(frozenset())
    answer = tuple(query for query in job.queries if query.name == "answer")
    return Job(job.streams, answer, job.settings)


def _rows() -> Changes:
    random = np.random.default_rng(7)
    ts = np.arange(ROWS, dtype=np.int64) // PER_UNIT + 1
    columns = [ts, random.integers(0, ITEMS, ROWS), random.integers(0, PRICES, ROWS)]
    batch = pa.record_batch([pa.array(c) for c in columns], names=["ts", "item", "price"])
    return Changes.elements(batch, ts, np.arange(ROWS, dtype=np.int64))


def _border(job: Job) -> Node:
    """What hands on to the query: the sync, or what would be synchronized."""
    nodes = job.graph.nodes
    syncs = [node for node in nodes if isinstance(node, Sync)]
    groups = [node for node in nodes if isinstance(node, GroupBy)]
    return syncs[0] if syncs else groups[0] if len(groups) > 1 else groups[0].input


def _loaded(states: dict[str, State], name: str) -> State:
    return states.get(name, {})


def _kept(states: dict[str, State], node: Node) -> int:
    log = states.get(node.state_name, {}).get("waiting")
    return 0 if log is None else log.rows


def table(found: dict[str, Cost]) -> str:
    """The costs as lines of Markdown."""
    titles = ("points", "CPU time", "above", "rows handed on", "changes", "waiting at most")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for name, cost in found.items():
        lines.append(
            f"| {name} | {cost.seconds:.2f} s | {cost.above:.3f} s | {cost.handed_on:,} | "
            f"{cost.emitted:,} | {cost.most_kept:,} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    for title, (view, query) in QUERIES.items():
        print(title, table(costs(view, query)), sep="\n\n", end="\n\n")
