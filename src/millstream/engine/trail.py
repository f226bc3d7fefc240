"""The trail of a job: where its sources stood after some batches, so that they can be read again.

A slice gives the same rows at any time, and so does a position. A few positions of every source,
with what its gates knew there, are enough to read any part of its past once more, and to find the
same rows late.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.algebra.time import DAWN
from millstream.catalog import Stream
from millstream.connect.source import Slice
from millstream.engine.clock import Clock, Header, PartitionClock, SourceClock

MOST = 24
"""How many marks are kept of a source."""


@dataclass(frozen=True)
class Mark:
    """Where a source stood: its position, and by partition the rows planned before it, the largest
    instant among them, and the heartbeat that was promised. `beat` is that of the stream then."""

    at: Any
    rows: Mapping[str, int] = field(default_factory=dict)
    largest: Mapping[str, int] = field(default_factory=dict)
    promise: Mapping[str, int] = field(default_factory=dict)
    beat: int = DAWN

    @property
    def newest(self) -> int:
        """The largest instant of a row before the mark."""
        return max(self.largest.values(), default=DAWN)

    @property
    def count(self) -> int:
        """How many rows were planned before the mark."""
        return sum(self.rows.values())

    def clock(self, stream: str) -> Clock:
        """As much of the clock of then as gates need."""
        parts = {
            name: PartitionClock(self.largest.get(name), self.promise.get(name))
            for name in self.largest.keys() | self.promise.keys()
        }
        return Clock({stream: SourceClock(partitions=parts)}, {stream: self.beat})


Trail = Mapping[str, tuple[Mark, ...]]
"""The marks of every source that can be read again, in the order of time; the last is of now."""


@dataclass(frozen=True)
class Planned:
    """What a host has planned for a batch: its slices, and the positions of sources after them."""

    slices: tuple[Slice, ...] = ()
    positions: Mapping[str, Any] = field(default_factory=dict)


def followed(
    trail: Trail,
    streams: Mapping[str, Stream],
    planned: Planned,
    headers: Iterable[Header],
    before: Clock,
    after: Clock,
) -> dict[str, tuple[Mark, ...]]:
    """The trail after a batch.

    Marks are thinned out, the older the more. Where rows were found late by a heartbeat that other
    partitions or the clock have brought, the trail begins anew: reading again would not find them
    late.
    """
    slices: dict[str, list[Slice]] = {}
    for slice_ in planned.slices:
        slices.setdefault(slice_.source, []).append(slice_)
    headers = list(headers)
    came = {header.source for header in headers if header.rows}
    refused = {h.source for h in headers if h.late and _was_overtaken(h, streams, before)}
    found = {}
    for name, stream in streams.items():
        mine, here = slices.get(name, []), planned.positions.get(name, {})
        is_new = name not in before.sources or before.sources[name].rows == 0
        marks = (Mark(here["start"]),) if is_new and "start" in here else trail.get(name, ())
        if not can_be_reread(stream) or not marks or any(s.rows is None for s in mine):
            continue
        if mine:
            mark = _mark(marks[-1], here["at"], mine, after, name)
            found[name] = (mark,) if name in refused else _thinned((*marks, mark))
        elif name not in came:
            found[name] = marks
    return found


def can_be_reread(stream: Stream) -> bool:
    """Whether the rows of a stream can be read again with the instants that they had."""
    return stream.source is not None and stream.of is None and not stream.is_internal


def mark_before(marks: tuple[Mark, ...], instant: int) -> Mark | None:
    """The last mark before which all rows were older than an instant."""
    return next((mark for mark in reversed(marks) if mark.newest < instant), None)


def _mark(last: Mark, at: Any, slices: list[Slice], clock: Clock, name: str) -> Mark:
    rows = dict(last.rows)
    for slice_ in slices:
        rows[slice_.partition] = rows.get(slice_.partition, 0) + slice_.length
    parts = clock.sources[name].partitions if name in clock.sources else {}
    largest = {n: p.largest for n, p in parts.items() if p.largest is not None}
    promise = {n: p.promise for n, p in parts.items() if p.promise is not None}
    return Mark(at, rows, largest, promise, clock.beats.get(name, DAWN))


def _thinned(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """Without one when there are too many: the one whose neighbours lie closest together, for their
    age in rows. The first stays, and the last."""
    if len(marks) <= MOST:
        return marks
    at = [mark.count for mark in marks]
    gaps = [(at[i + 1] - at[i - 1]) / (at[-1] - at[i - 1] + 1) for i in range(1, len(at) - 1)]
    gone = 1 + gaps.index(min(gaps))
    return (*marks[:gone], *marks[gone + 1 :])


def _was_overtaken(header: Header, streams: Mapping[str, Stream], before: Clock) -> bool:
    """Whether the heartbeat of a stream had passed what a partition had shown by itself."""
    stream, known = streams.get(header.source), before.sources.get(header.source)
    if stream is None or header.partition is None:
        return False
    beat = before.beats.get(header.source, DAWN)
    part = known.partitions.get(header.partition) if known is not None else None
    return beat > (DAWN if part is None else part.heartbeat(stream))


def trail_to_json(trail: Trail) -> dict[str, Any]:
    return {name: [vars(mark) for mark in marks] for name, marks in trail.items()}


def trail_from_json(data: Mapping[str, Any]) -> dict[str, tuple[Mark, ...]]:
    return {name: tuple(Mark(**mark) for mark in marks) for name, marks in data.items()}
