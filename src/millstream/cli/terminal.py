"""What people see while a job runs: results as they come, and one line of progress."""

from __future__ import annotations

import datetime as dt
import sys
import time
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.live import Live
from rich.text import Text

from millstream.algebra.time import DAWN, Domain
from millstream.connect.text_sink import encode
from millstream.engine.job import Job

MOST_LINES = 40
"""Lines of one result shown for one batch; the rest is counted."""

FIRST_STAMP = 10**14
"""A larger instant is taken for a timestamp in microseconds (after 1973)."""

_errors = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A remark beside the results."""
    _errors.print(f"-- {text}", style="dim", markup=False)


class Terminal:
    """Prints results as they come, each line with the name of its query."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._headed: set[str] = set()

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        if batch.num_rows == 0:
            return
        if name not in self._headed:
            self._headed.add(name)
            print(f"{name}: {','.join(batch.schema.names)}")
        for line in encode(batch.slice(0, MOST_LINES), "csv").decode().splitlines():
            print(f"{name}: {line}")
        if batch.num_rows > MOST_LINES:
            print(f"{name}: … and {batch.num_rows - MOST_LINES:,} more rows in this batch")
        sys.stdout.flush()

    def whole(self, name: str, content: pa.RecordBatch) -> None:
        print(f"{name} at the end: {content.num_rows:,} rows")
        self._headed.discard(name)
        self.rows(name, content, 0)

    def sizes(self) -> dict[str, int]:
        return {}

    def close(self) -> None: ...


class Progress:
    """One line on the error output: rows, speed, heartbeat, lag and size of state."""

    def __init__(self) -> None:
        self._live = Live(console=_errors, transient=True, auto_refresh=False)
        self._rows = 0
        self._started = 0.0
        self._said = 0.0

    def __enter__(self) -> Progress:
        if _errors.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if _errors.is_terminal:
            self._live.stop()

    def note(self, text: str) -> None:
        if _errors.is_terminal:
            self._live.update(Text(text, style="dim"), refresh=True)

    def batch(self, report: Any) -> None:
        """Show what a batch did; without a terminal, a line every ten seconds."""
        now = time.perf_counter()
        self._started = self._started or now - report.seconds
        self._rows += report.rows
        rate = report.rows / report.seconds
        line = (
            f"batch {report.number}: {self._rows:,} rows, "
            f"{rate:,.0f} rows/s, heartbeat {_beat(report.clock)}, "
            f"lag {_lag(report.clock)}, state {report.state_rows:,} rows"
        )
        if _errors.is_terminal:
            self.note(line)
        elif now - self._said > 10:
            self._said = now
            say(line)


def _beat(clock: Any) -> str:
    beat = _least(clock)
    if beat is None:
        return "none yet"
    return spell_instant(beat, Domain.TIMESTAMP if beat > FIRST_STAMP else Domain.INTEGER)


def _lag(clock: Any) -> str:
    """How far the heartbeat is behind the clock, where it is a time of day."""
    beat = _least(clock)
    if beat is None or beat < FIRST_STAMP:
        return "none"
    seconds = time.time() - beat / 1_000_000
    return f"{seconds:,.1f} s" if seconds < 86_400 else f"{seconds / 86_400:,.0f} days"


def _least(clock: Any) -> int | None:
    return min((b for b in clock.beats.values() if b > DAWN), default=None)


def spell_instant(instant: int, domain: Domain) -> str:
    """An instant as people write it."""
    if domain is not Domain.TIMESTAMP:
        return str(instant)
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=instant)
    return moment.isoformat(sep=" ", timespec="milliseconds")
