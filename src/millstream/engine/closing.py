"""The end of bounded input: time goes on until every window is closed, or is left where it is."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.algebra.node import Node, walk
from millstream.algebra.time import DAWN, Domain
from millstream.engine.clock import Clock
from millstream.engine.job import Job
from millstream.engine.read_tasks import ReadTask
from millstream.errors import Notice
from millstream.operators import Now, Scan


def closing_tasks(job: Job, clock: Clock, now: int) -> list[ReadTask]:
    """Read tasks that bring nothing but the time at which the last window of every time domain is
    closed; none while a source has not ended, or when time has come so far already.

    Law: what is closed follows from the largest instants of the streams, so neither the cut into
    batches nor a restart before it changes what is emitted.
    """
    if not has_ended(job, clock):
        return []
    until: dict[Domain, int] = {}
    for query in job.queries:
        if (last := _last(query.plan, clock)) is not None:
            until[query.domain] = max(until.get(query.domain, DAWN), query.plan.closes(last))
    return [
        ReadTask(name, (), None, True, now, promise=until[stream.domain])
        for name, stream in job.streams.items()
        if clock.beats.get(name, DAWN) < until.get(stream.domain, DAWN)
    ]


def has_ended(job: Job, clock: Clock) -> bool:
    """Whether every source has come to its end, and the batch that showed it is finished."""
    return bool(job.streams) and all(
        name in clock.sources and clock.sources[name].ended for name in job.streams
    )


def open_windows(job: Job, clock: Clock) -> int:
    """How many windows hold rows that time would drive out, or wait for a slot to end."""
    return sum(
        node.closes(last) > max(clock.beats.get(name, DAWN) for name in _streams(node))
        for node in _windows(job)
        if (last := _last(node, clock)) is not None
    )


def left_open(job: Job, clock: Clock) -> Notice | None:
    """What to say at the end of bounded input, if there are open windows."""
    found = open_windows(job, clock) if has_ended(job, clock) else 0
    if not found:
        return None
    said = "1 window is" if found == 1 else f"{found} windows are"
    return Notice(
        f"{said} still open at the end of the input",
        "With --close (in Python, run(close=True)) time goes on until all are closed.",
    )


def _windows(job: Job) -> Iterator[Node]:
    """The different windows of all queries. That of an instant is over with the instant: whether
    its row has left shows in few answers, and it is not counted."""
    every = dict.fromkeys(node for query in job.queries for node in walk(query.plan))
    return (node for node in every if node.is_window and not isinstance(node, Now))


def _last(plan: Node, clock: Clock) -> int | None:
    """The largest instant of the streams that a plan reads."""
    sources = (clock.sources.get(name) for name in _streams(plan))
    seen = [t for source in sources if source is not None and (t := source.last) is not None]
    return max(seen, default=None)


def _streams(plan: Node) -> set[str]:
    return {node.stream for node in walk(plan) if isinstance(node, Scan)}
