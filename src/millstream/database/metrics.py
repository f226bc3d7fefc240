"""Metrics of a run: how many batches there were, where they went, how long they took; its lag."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from millstream.algebra.time import DAWN
from millstream.database.events import BatchFinished, Events, RunStarted
from millstream.engine.clock import Clock
from millstream.engine.outputs import Query
from millstream.engine.placement import DRIVER
from millstream.engine.report import BatchReport
from millstream.engine.summary import QuerySummary, StreamSummary, Summary
from millstream.plan.graph import Graph

RECENT = 1_000
"""Of so many batches, the last ones, the seconds are kept."""

FIRST_STAMP = 10**14
"""A larger instant is taken for a timestamp in microseconds (after 1973)."""

LIVE = 3_600.0
"""Data whose newest instant is further back than these seconds is not live: it has no lag."""


@dataclass(frozen=True)
class Metrics:
    """What a run has done so far, or one query in it: then `rows` are those of its streams, and
    `emitted` those of its result.

    `p50` to `highest` are seconds that the last 1,000 batches took, and `last` those of the last
    one, from its beginning to its commit. `state_rows` are the rows that all operators hold.

    `lag` is how many seconds the clock of the wall is ahead of the instant up to which answers are
    final; None for data that was written down long ago, or that has no timestamps.
    """

    batches: int = 0
    in_driver: int = 0
    on_executors: int = 0
    rows: int = 0
    emitted: int = 0
    last: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    highest: float = 0.0
    lag: float | None = None
    state_rows: int = 0


class Meter:
    """Counts the batches of a database: from the start of every run anew."""

    def __init__(self, events: Events) -> None:
        self._reset()
        events.subscribe(lambda event: self._reset(), RunStarted)
        events.subscribe(lambda event: self._count(event.report), BatchFinished)

    def _reset(self) -> None:
        self._batches = self._in_driver = self._rows = self._emitted = self._state_rows = 0
        self._seconds: deque[float] = deque(maxlen=RECENT)
        self._clock = Clock.start()

    def _count(self, report: BatchReport) -> None:
        self._batches += 1
        self._in_driver += report.place == DRIVER
        self._rows += report.rows
        self._emitted += report.emitted
        self._state_rows = report.state_rows
        self._clock = report.clock
        self._seconds.append(report.seconds)

    def metrics(self, streams: Iterable[str] | None = None) -> Metrics:
        """The metrics of now; the lag is that of these streams, or of all."""
        seconds = tuple(self._seconds)
        p50, p90, p99 = np.quantile(seconds, (0.5, 0.9, 0.99)).tolist() if seconds else (0.0,) * 3
        return Metrics(
            self._batches,
            self._in_driver,
            self._batches - self._in_driver,
            self._rows,
            self._emitted,
            seconds[-1] if seconds else 0.0,
            p50,
            p90,
            p99,
            max(seconds, default=0.0),
            lag_at(final_instant(self._clock, streams)),
            self._state_rows,
        )

    def of_query(self, query: Query, summary: Summary) -> Metrics:
        """The metrics of one query of the run with this summary."""
        streams = [n for n in Graph((query.plan,)).scans if n in summary.streams]
        read = (summary.streams.get(name, StreamSummary()) for name in streams)
        emitted = summary.queries.get(query.name, QuerySummary()).emitted
        return replace(self.metrics(streams), rows=sum(s.rows for s in read), emitted=emitted)


def final_instant(clock: Clock, streams: Iterable[str] | None = None) -> int | None:
    """The instant up to which answers over these streams are final; None before there is one."""
    beats = (clock.beats.get(name, DAWN) for name in (clock.beats if streams is None else streams))
    return min((beat for beat in beats if beat > DAWN), default=None)


def lag_at(instant: int | None) -> float | None:
    """By how many seconds an instant lies behind the clock of the wall; None when it is not live.

    The clock of data that was written down long ago is not behind: it shows another day.
    """
    if instant is None or instant < FIRST_STAMP:
        return None
    lag = time.time() - instant / 1_000_000
    return lag if 0 <= lag < LIVE else None
