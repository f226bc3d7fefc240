"""What queries cost in the operators themselves, under several strategies, batch by batch."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import mean

import numpy as np

from bench.links import Settings, connections, job_of
from millstream.algebra.changes import Changes
from millstream.algebra.time import Span
from millstream.engine.evaluation import read_scan
from millstream.engine.holdings import Holding
from millstream.engine.hot_keys import HotKeys
from millstream.engine.job import Job
from millstream.engine.level import Level
from millstream.state.chunks import State

Figures = dict[str, float]

BATCHES = (1_000, 10_000)
"""Tuples in a batch, on all links of a query."""

FEWEST = 20
"""So many batches are measured at least, and at least as many as a window is long: by then
everything has happened that happens only now and then."""

ROUNDS = 2


def beside_each_other(
    text: str, window: int, variants: Mapping[str, Settings]
) -> dict[str, Figures]:
    """Microseconds per 1,000 tuples and the state held, under every variant of the settings.

    One batch of every variant after the other, so that all see the same noise, in an order that
    changes, so that none always finds what another one has left in the cache. States are values:
    the same batches are done again from the same state, and of every batch the faster round counts.
    """
    runs = {name: Run.of(text, window, given) for name, given in variants.items()}
    for run in runs.values():
        run.fill(window)
    for rows in BATCHES:
        gc.collect()
        begun = {name: (run.states, run.now) for name, run in runs.items()}
        rounds: dict[str, list[list[float]]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                run.states, run.now = begun[name]
                rounds[name].append([])
            for number in range(max(window // (rows // run.links), FEWEST)):
                for name in _mixed(list(runs), number):
                    rounds[name][-1].append(runs[name].batch(rows // run.links))
        for name, run in runs.items():
            run.seconds[rows] = [min(same) for same in zip(*rounds[name])]
    return {name: run.figures() for name, run in runs.items()}


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
    def of(text: str, window: int, settings: Settings) -> Run:
        job = job_of(text.format(window=window), settings, 1)
        needed = 2 * (window + max(BATCHES) * FEWEST)
        return Run(job, {name: _rows(name, needed) for name in job.graph.scans})

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
        level = Level(graph, 0, 1, spans, lambda name: self.states.get(name, {}), HotKeys())
        for name, scans in graph.scans.items():
            there = self.rows[name].slice(self.now, later)
            assert len(there) == units, "the feed is too short"
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


def _mixed(names: list[str], by: int) -> list[str]:
    """Another one first every time, and every second time the other way round."""
    turned = names[by % len(names) :] + names[: by % len(names)]
    return turned if by // len(names) % 2 else turned[::-1]


@cache
def _rows(link: str, count: int) -> Changes:
    return connections(link, count)
