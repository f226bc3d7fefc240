"""What one batch did: the report of it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from millstream.engine.clock import Clock, Header
from millstream.engine.finished import Finished
from millstream.engine.job import Job
from millstream.engine.messages import Message, Worked
from millstream.engine.placement import DRIVER


@dataclass(frozen=True)
class BatchReport:
    """What one batch did: for progress lines and for the benchmark."""

    number: int
    rows: int
    emitted: int
    seconds: float
    clock: Clock
    state_rows: int
    state_bytes: int
    parts: dict[str, float]
    place: str = DRIVER


def report_of(
    job: Job,
    after: Finished,
    headers: list[Header],
    messages: list[Message],
    started: float,
    carried: float,
) -> BatchReport:
    """What the messages of a batch tell of it; it was begun and carried at these times."""
    worked = [m for m in messages if isinstance(m, Worked)]
    ended = time.perf_counter()
    parts = {k: sum(getattr(w, k) for w in worked) for k in ("load", "run", "write")}
    parts |= {"carried": carried - started, "driver": ended - carried}
    return BatchReport(
        after.number,
        sum(h.rows + h.unreadable for h in headers if h.source in job.declared),
        sum(w.emitted for w in worked),
        ended - started,
        after.clock,
        sum(w.state_rows for w in worked),
        sum(w.written for w in worked),
        parts,
    )
