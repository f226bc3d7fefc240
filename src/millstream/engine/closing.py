"""The end of bounded input: time goes on until every window is closed, or is left where it is."""

from __future__ import annotations

from millstream.algebra.node import Node, walk
from millstream.algebra.time import DAWN, Domain
from millstream.catalog import Stream
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
    closed, until = _closed(job, clock), dict[Domain, int]()
    for query in job.queries:
        last = closed.get(query.plan, DAWN)
        until[query.domain] = max(until.get(query.domain, DAWN), last)
    return [
        ReadTask(name, (), None, True, now, promise=until[stream.domain])
        for name, stream in job.streams.items()
        if clock.beats.get(name, DAWN) < until.get(stream.domain, DAWN)
    ]


def has_ended(job: Job, clock: Clock) -> bool:
    """Whether every source has come to its end, and the batch that showed it is finished."""
    read = [name for name, stream in job.streams.items() if _is_read(stream)]
    return bool(read) and all(n in clock.sources and clock.sources[n].ended for n in read)


def open_windows(job: Job, clock: Clock) -> int:
    """How many windows hold rows that time would drive out, or wait for a slot to end.

    The window of an instant is over with the instant, and is not counted: few answers show whether
    its row has left.
    """
    windows = (n for n in _closed(job, clock).items() if n[0].is_window)
    return sum(
        at > max(clock.beats.get(name, DAWN) for name in _streams(window))
        for window, at in windows
        if not isinstance(window, Now)
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


def _closed(job: Job, clock: Clock) -> dict[Node, int]:
    """When each node of the queries, as they are bound, is closed: after those below it. A node
    whose streams have had no element is never open."""
    found: dict[Node, int] = {}
    for query in job.queries:
        for node in walk(query.plan):
            if isinstance(node, Scan):
                source = clock.sources.get(node.stream)
                last = None if source is None else source.last
            else:
                below = [found[child] for child in node.inputs if child in found]
                last = max(below, default=None)
            if last is not None:
                found[node] = node.closes(last)
    return found


def _streams(plan: Node) -> set[str]:
    return {node.stream for node in walk(plan) if isinstance(node, Scan)}


def _is_read(stream: Stream) -> bool:
    """Whether a stream can have an end: one without a source stays empty for ever."""
    return stream.source is not None or stream.foreign or stream.of is not None
