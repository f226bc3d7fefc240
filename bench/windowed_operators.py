"""Figures 4 and 5 in the operator: tuples per second over windows of many widths."""

from __future__ import annotations

import gc
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from statistics import median
from tempfile import NamedTemporaryFile

import numpy as np
import pyarrow as pa

from bench.windowed import AGGREGATES, Aggregate, by_hand
from millstream.algebra.changes import Changes
from millstream.algebra.time import Span
from millstream.database import Database
from millstream.engine.evaluation import read_scan
from millstream.engine.hot_keys import HotKeys
from millstream.engine.job import Job
from millstream.engine.level import Level
from millstream.state.chunks import State

WINDOWS = (100, 1_000, 10_000, 100_000, 1_000_000)
BATCH, TURNS = 500_000, 5
LOOKED_AT = 20_000_000
"""Tuples of windows that (D) looks at in a batch; it is left out where one batch would be fewer
tuples than this lets it take."""

FEWEST = 2_000
STREAM = "CREATE STREAM bids (ts bigint, item bigint, price double) ORDER BY ts SOURCE '{source}';"


@dataclass
class Run:
    """The operators of a query, fed with bids of this process."""

    job: Job
    states: dict[str, State] = field(default_factory=dict)
    now: int = 0

    @staticmethod
    def of(script: str) -> Run:
        database = Database(tell=lambda notice: None)
        database.pin("rules", "fixed")
        with NamedTemporaryFile("w", suffix=".csv") as unread:
            print("ts,item,price", file=unread, flush=True)
            database.execute(STREAM.format(source=unread.name))
            database.execute(script)
            return Run(database.job())

    def batch(self, rows: int) -> float:
        """The seconds of a step over so many tuples more."""
        graph, span = self.job.graph, Span(self.now - 1, self.now + rows - 1, 0)
        spans = dict.fromkeys(graph.nodes, span)
        level = Level(graph, 0, 1, spans, lambda name: self.states.get(name, {}), HotKeys())
        level.received |= {s: read_scan(s, bids(self.now, rows)) for s in graph.scans["bids"]}
        gc.collect()
        begun = time.perf_counter()
        for exchange in graph.exchanges:
            level.received[exchange] = level.output(exchange.input)
        for root in graph.roots:
            level.output(root)
        took = time.perf_counter() - begun
        self.states = {**self.states, **level.states}
        self.now += rows
        return took


def bids(first: int, count: int) -> Changes:
    """Bids on items of which few are much more frequent than the others."""
    random = np.random.default_rng([7, first])
    ts = np.arange(first, first + count)
    columns = {
        "ts": ts,
        "item": (random.pareto(1.2, count) * 10).astype(np.int64) % 100_000,
        "price": np.round(random.lognormal(3, 1, count), 2),
    }
    return Changes.elements(pa.record_batch(columns), ts, ts + 1)


def figure(aggregate: Aggregate) -> dict[str, object]:
    """Millions of tuples per second of every way, window by window, and what A is of B."""
    every = {window: beside_each_other(aggregate, window) for window in WINDOWS}
    found: dict[str, object] = {
        f"{window:,} rows: {way}": rate
        for window, rates in every.items()
        for way, rate in rates.items()
    }
    flat = min(rates["A"] for rates in every.values()) / every[WINDOWS[0]]["A"]
    return {**found, "A, slowest : narrowest": flat, "target of A : B": 0.85, "target": 0.9}


def beside_each_other(aggregate: Aggregate, window: int) -> dict[str, float]:
    """One batch of every way after the other, once windows are full: all see the same noise."""
    rows = {"A": BATCH, "B": BATCH, "C": BATCH, "D": min(BATCH, LOOKED_AT // window)}
    runs = {}
    for way, each in rows.items():
        if each >= min(FEWEST, BATCH):
            with by_hand() if way == "B" else nullcontext():
                runs[way] = Run.of(aggregate.script(way, window))
                _fill(runs[way], window, each)
    seconds: dict[str, list[float]] = {way: [] for way in runs}
    for turn in range(TURNS):
        for way in list(runs)[:: 1 if turn % 2 else -1]:
            seconds[way].append(runs[way].batch(rows[way]))
    found = {way: rows[way] / median(took) / 1e6 for way, took in seconds.items()}
    return {**found, "A : B": median(b / a for a, b in zip(seconds["A"], seconds["B"]))}


def _fill(run: Run, window: int, rows: int) -> None:
    for _ in range(2):
        run.batch(rows)
    while run.now < window:
        run.batch(rows)


def run() -> dict[str, dict[str, object]]:
    return {name: figure(aggregate) for name, aggregate in AGGREGATES.items()}
