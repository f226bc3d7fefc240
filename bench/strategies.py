"""The strategies of state beside each other: the same queries, windows and rows, turn by turn."""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import mean, median

import numpy as np
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench.links import QUERIES, STREAM, connections
from millstream.algebra.changes import Changes
from millstream.algebra.state import State
from millstream.algebra.time import Span
from millstream.engine.holdings import Holding
from millstream.engine.job import Job
from millstream.engine.level import Level, read_scan
from millstream.session import Session
from millstream.spark.host import BatchReport, SparkHost

WINDOWS = (2_000, 20_000, 100_000, 200_000)
STRATEGIES = {name: {"strategy": name} for name in ("negative", "direct", "update_pattern")}
OURS = "update_pattern"
FORCED = {
    "ends": {"strategy": OURS, "negation": "ends"},
    "open": {"strategy": OURS, "negation": "negative"},
}
"""Between these two `update_pattern` chooses above a negation, by what it measures."""

NEGATIONS = ("3", "5 negation below", "5 negation above")
BATCHES = {1_000: 30, 10_000: 10}
"""Tuples in a batch, on all links of a query, and how many batches of it are measured."""

WARM_UP = 2
ROUNDS = 3
LONGEST = int(max(WINDOWS) * 1.1) + sum(rows * (n + WARM_UP) for rows, n in BATCHES.items())
TOLD = ("1 telnet", "2 source", "4")
"""Queries that are measured as STREAMED, too."""

SPARK_WINDOWS = (100_000,)
SPARK_QUERIES = ("1 telnet", "2 source")
SPARK_UNITS, SPARK_BATCHES = 25_000, 4
"""Units of time in a batch through Spark, and how many of them are measured."""

Settings = Mapping[str, str]
Figures = dict[str, float]
Found = dict[str, dict[str, dict[str, Figures]]]


def in_operators(
    queries: Iterable[str] = QUERIES, windows: Sequence[int] = WINDOWS, form: str = "COMPLETE"
) -> Found:
    """By query, window and strategy: microseconds per 1,000 tuples, and the state held."""
    return {
        query: {str(window): _turns(query, window, form) for window in windows} for query in queries
    }


def through_spark(spark: SparkSession, turns: int) -> Found:
    """The same for a few queries and windows through Spark, after a turn to warm up."""
    found: Found = {}
    for query in SPARK_QUERIES:
        for window in SPARK_WINDOWS:
            every: dict[str, list[float]] = {name: [] for name in STRATEGIES}
            for turn in range(turns + 1):
                for name, settings in STRATEGIES.items():
                    took = _spark_run(spark, QUERIES[query], window, settings)
                    every[name] += [took] if turn else []
            figures = {name: {"µs per 1,000": median(times)} for name, times in every.items()}
            found.setdefault(query, {})[str(window)] = figures
    return found


@dataclass
class Run:
    """The operators of a query under one strategy, in one bucket and nothing around them.

    Rows go in as scans give them, and on through filters, windows and exchanges to what keeps the
    result.
    """

    job: Job
    rows: dict[str, Changes]
    states: dict[str, State] = field(default_factory=dict)
    now: int = 0
    seconds: dict[int, list[float]] = field(default_factory=dict)

    @staticmethod
    def of(text: str, window: int, form: str, settings: Settings) -> Run:
        job = _job(text.format(form=form, window=window), settings, 4 * LONGEST)
        return Run(job, {name: _rows(name) for name in job.graph.scans})

    @property
    def links(self) -> int:
        return len(self.rows)

    def fill(self, window: int) -> None:
        """Until the window is full and rows have begun to leave it."""
        units = max(BATCHES) // self.links
        for _ in range(window * 11 // 10 // units + 1):
            self.batch(units)

    def batch(self, units: int) -> float:
        """A step over so many units of time; its CPU time."""
        graph, later = self.job.graph, self.now + units
        span = Span(self.now - 1, later - 1, 0)
        spans = dict.fromkeys(graph.nodes, span)
        level = Level(graph, 0, 1, spans, lambda name: self.states.get(name, {}), {})
        for name, scans in graph.scans.items():
            there = self.rows[name].slice(self.now, later)
            level.received |= {scan: read_scan(scan, there) for scan in scans}
        begin = time.process_time()
        for exchange in graph.exchanges:
            given = level.output(exchange.input)
            numbered = graph.needs_arrival[exchange]
            level.received[exchange] = given if numbered else without_arrival(given)
        for root in graph.roots:
            level.output(root)
        took = time.process_time() - begin
        self.states = {**self.states, **level.states}
        self.now = later
        return took

    def figures(self) -> Figures:
        times = {
            f"µs per 1,000 in batches of {rows:,}": mean(seconds) / rows * 1e9
            for rows, seconds in self.seconds.items()
        }
        parts = [part for state in self.states.values() for part in state.values()]
        held = sum(map(Holding.of, parts), Holding())
        return {**times, "state rows": held.rows, "state bytes": held.bytes}


def without_arrival(changes: Changes) -> Changes:
    return replace(changes, seq=np.zeros(len(changes), np.int64))


def _turns(query: str, window: int, form: str) -> dict[str, Figures]:
    """One batch of every strategy after the other, so that all see the same noise.

    States are values: the same batches are done again from the same state, and of every batch the
    fastest of the rounds counts. The mean of the batches has in it what is done only now and then.
    """
    variants = {**STRATEGIES, **FORCED} if query in NEGATIONS else STRATEGIES
    text = QUERIES[query]
    runs = {name: Run.of(text, window, form, given) for name, given in variants.items()}
    for run in runs.values():
        run.fill(window)
    gc.collect()
    for rows, count in BATCHES.items():
        begun = {name: (run.states, run.now) for name, run in runs.items()}
        rounds: dict[str, list[list[float]]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                run.states, run.now = begun[name]
                rounds[name].append([])
            for number in range(count + WARM_UP):
                for name in _rotated(list(runs), number):
                    took = runs[name].batch(rows // runs[name].links)
                    rounds[name][-1].append(took)
        for name, run in runs.items():
            run.seconds[rows] = [min(same) for same in zip(*rounds[name])][WARM_UP:]
    return {name: run.figures() for name, run in runs.items()}


def _rotated(names: list[str], by: int) -> list[str]:
    return names[by % len(names) :] + names[: by % len(names)]


@cache
def _rows(link: str) -> Changes:
    return connections(link, LONGEST)


def _job(text: str, settings: Settings, events: int) -> Job:
    session = Session(tell=lambda notice: None)
    for name, value in {**settings, "rules": "fixed"}.items():
        session.pin(name, value)
    for number in range(4):
        if f"link{number}" in text:
            session.execute(STREAM.format(name=f"link{number}", events=events))
    session.execute(text)
    return session.job()


def _spark_run(spark: SparkSession, text: str, window: int, settings: Settings) -> float:
    """Microseconds per 1,000 tuples that Spark's triggers take once the window is full."""
    units, fill = SPARK_UNITS, -(-window // SPARK_UNITS)
    events = 4 * units * (fill + SPARK_BATCHES)
    text = text.format(form="COMPLETE", window=window)
    job = _job(text, {**settings, "batch_rows": str(units)}, events)
    checkpoint = tempfile.mkdtemp(prefix="millstream-bench-")
    reports: list[BatchReport] = []
    host = SparkHost(
        spark,
        job,
        lambda commit: [],
        checkpoint,
        wanted=frozenset(),
        progress=reports.append,
    )
    try:
        host.run()
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    triggers = [t for t in host.triggers if t.get("addBatch")][fill : fill + SPARK_BATCHES]
    tuples = units * len(job.graph.scans)
    return median(t["triggerExecution"] for t in triggers) * 1e3 / tuples * 1e3


def show(title: str, found: Found) -> None:
    """Tables of the figures by window, with the ratio of the best of the others to ours."""
    names = dict.fromkeys(
        n for w in found.values() for f in w.values() for s in f.values() for n in s
    )
    for measured in names:
        table = Table(title=f"{title}: {measured}", title_justify="left")
        columns = dict.fromkeys(n for w in found.values() for f in w.values() for n in f)
        for column in ("query", "window", *columns, "best other : ours"):
            table.add_column(column, justify="left" if column == "query" else "right")
        for query, windows in found.items():
            for window, figures in windows.items():
                values = [figures.get(name, {}).get(measured) for name in columns]
                table.add_row(
                    query,
                    f"{int(window):,}",
                    *("" if value is None else f"{value:,.0f}" for value in values),
                    f"{ratio(figures, measured):.2f}",
                )
        Console(width=120).print(table)


def ratio(figures: Mapping[str, Figures], measured: str) -> float:
    """How many times what ours costs the best of the others does."""
    others = [given[measured] for name, given in figures.items() if name != OURS]
    return min(others) / max(figures[OURS][measured], 1e-9)


def run(spark: Callable[[], SparkSession], turns: int) -> dict[str, object]:
    alone = in_operators()
    show("in the operators", alone)
    told = in_operators(TOLD, SPARK_WINDOWS, "STREAMED")
    show("in the operators, told as changes", told)
    outside = through_spark(spark(), turns)
    show("through Spark", outside)
    return {"in the operators": alone, "told as changes": told, "through Spark": outside}
