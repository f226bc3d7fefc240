"""What people see while a job runs: remarks, and one line of progress, on the error output."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from typing import Any

from millstream.algebra.time import Domain, spell_instant
from millstream.database.metrics import FIRST_STAMP, final_instant, lag_at
from millstream.engine.summary import rows_said

UNREAD = 141
"""The exit code when nobody reads standard output any more, as for a process that SIGPIPE ends."""

BLINK = 0.1
"""Seconds for which a line of progress can at least be read."""

QUIET = 10.0
"""Seconds between two lines of progress where they are not written over each other."""


class Screen:
    """The error output, with a line of progress at its end if it is a terminal.

    The line is taken away before anything else is written, there or to standard output, and written
    again after it.
    """

    def __init__(self) -> None:
        self._line = ""
        self._lock = threading.RLock()

    @property
    def is_terminal(self) -> bool:
        return sys.stderr.isatty()

    def say(self, text: str) -> None:
        """A remark of one line beside the results, however long it is."""
        shown = f"-- {text}"
        with self:
            print(_dim(shown) if self.is_terminal else shown, file=sys.stderr, flush=True)

    def progress(self, line: str) -> None:
        """Another line of progress in place of the one before; only on a terminal."""
        with self._lock:
            self._erase()
            self._line = line if self.is_terminal else ""
            self._draw()

    def __enter__(self) -> Screen:
        """Between entering and leaving, something else may be written."""
        self._lock.acquire()
        self._erase()
        return self

    def __exit__(self, *problem: object) -> None:
        self._draw()
        self._lock.release()

    def _erase(self) -> None:
        if self._line:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

    def _draw(self) -> None:
        if self._line:
            most = shutil.get_terminal_size().columns - 1
            shown = self._line if len(self._line) <= most else self._line[: most - 1] + "…"
            sys.stderr.write(_dim(shown))
            sys.stderr.flush()


screen = Screen()
say = screen.say


class Progress:
    """One line: rows and speed of the batch and of the run, the instant reached, size of state."""

    def __init__(self) -> None:
        self._rows = 0
        self._said = time.perf_counter()
        self._shown = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *problem: object) -> None:
        screen.progress("")

    def note(self, text: str) -> None:
        screen.progress(text)

    def batch(self, report: Any) -> None:
        """Show what a batch did; without a terminal, a line every ten seconds."""
        self._rows += report.rows
        now = time.perf_counter()
        if screen.is_terminal and now - self._shown > BLINK:
            self._shown = now
            screen.progress(progress_line(report, self._rows))
        elif not screen.is_terminal and now - self._said > QUIET:
            self._said = now
            say(progress_line(report, self._rows))


def progress_line(report: Any, rows: int) -> str:
    """What a batch did; `rows` is the number of rows read so far, by it and those before."""
    took = f"{report.seconds * 1e3:,.0f} ms"
    where = " on executors" if report.place == "executors" else ""
    parts = [
        f"batch {report.number}: {rows_said(report.rows)} read in {took}{where}",
        f"{rows_said(rows)} in all",
        reached(report.clock),
        f"state {rows_said(report.state_rows)}",
    ]
    return ", ".join(parts)


def reached(clock: Any) -> str:
    """How far time has come: the lag of live data, else the instant up to which all is final."""
    beat = final_instant(clock)
    if beat is None:
        return "no instant is final yet"
    if beat < FIRST_STAMP:
        return f"final up to {beat}"
    if (lag := lag_at(beat)) is not None:
        return f"lag {lag:,.1f} s"
    return f"final up to {spell_instant(beat, Domain.TIMESTAMP)}"


def _dim(text: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[2m{text}\x1b[0m"
