"""The clock of a job: what every source has told about time, and the heartbeats that follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from millstream.algebra.time import DAWN, Domain, Span
from millstream.catalog import Stream


@dataclass(frozen=True)
class Header:
    """What reading a slice tells about its source, apart from the rows.

    `now` is the clock of the batch, in microseconds; `promise` a heartbeat sent by the source.
    """

    source: str
    first: int | None = None
    largest: int | None = None
    promise: int | None = None
    rows: int = 0
    late: int = 0
    bad: int = 0
    ended: bool = False
    now: int = 0


@dataclass(frozen=True)
class SourceClock:
    """What is known of one source: its first and largest timestamp, its promise, its last sign."""

    first: int | None = None
    largest: int | None = None
    promise: int | None = None
    ended: bool = False
    seen: int | None = None
    now: int = 0
    rows: int = 0
    late: int = 0
    bad: int = 0

    def told(self, header: Header) -> SourceClock:
        sign = header.rows > 0 or header.promise is not None
        return SourceClock(
            first=_least(self.first, header.first),
            largest=_most(self.largest, header.largest),
            promise=_most(self.promise, header.promise),
            ended=header.ended,
            seen=header.now if sign or self.seen is None else self.seen,
            now=max(self.now, header.now),
            rows=self.rows + header.rows,
            late=self.late + header.late,
            bad=self.bad + header.bad,
        )

    def heartbeat(self, stream: Stream) -> int:
        """No more elements at or before this instant will come."""
        if stream.is_internal:
            return self.now if self.now else DAWN
        if stream.domain is Domain.ARRIVAL:
            return DAWN if self.largest is None else self.largest
        if stream.foreign:
            return DAWN if self.promise is None else self.promise
        told = DAWN if self.largest is None else self.largest - stream.slack - 1
        return told if self.promise is None else max(told, self.promise)

    def is_idle(self, stream: Stream) -> bool:
        return (
            stream.idle is not None and self.seen is not None and self.now - self.seen > stream.idle
        )


@dataclass(frozen=True)
class Clock:
    """The clocks of all sources, and the heartbeat of every stream's companions so far."""

    sources: Mapping[str, SourceClock]
    beats: Mapping[str, int]

    @staticmethod
    def start() -> Clock:
        return Clock({}, {})

    def advance(
        self,
        headers: Iterable[Header],
        streams: Mapping[str, Stream],
        watermark_groups: Mapping[str, frozenset[str]],
    ) -> Clock:
        """The clock after a batch: the smallest heartbeat among companions, never going back.

        A source that has ended holds nobody back; when all sources of a time domain have ended, the
        last instant is the largest timestamp or heartbeat seen on any of them.
        """
        sources = {name: self.sources.get(name, SourceClock()) for name in streams}
        for header in headers:
            if header.source in sources:
                sources[header.source] = sources[header.source].told(header)
        beats = {
            name: max(self.beats.get(name, DAWN), _beat(name, sources, streams, watermark_groups))
            for name in streams
        }
        return Clock(sources, beats)

    def span(self, before: Clock, names: frozenset[str], since: tuple[str, ...] = ()) -> Span:
        """The instants that this clock adds to an earlier one, for what rests on these streams.

        Time begins with the first element of the streams `since`, or of these.
        """
        name = min(names)
        firsts = [
            c.first
            for n in since or names
            if (c := self.sources.get(n)) is not None and c.first is not None
        ]
        return Span(before.beats.get(name, DAWN), self.beats[name], min(firsts, default=None))

    def to_json(self) -> dict[str, Any]:
        return {
            "sources": {n: asdict(c) for n, c in self.sources.items()},
            "beats": dict(self.beats),
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Clock:
        return Clock({n: SourceClock(**c) for n, c in data["sources"].items()}, dict(data["beats"]))

    def without_ends(self) -> Clock:
        """The same clock for a run that goes on: no source has ended."""
        return replace(self, sources={n: replace(c, ended=False) for n, c in self.sources.items()})


def _beat(
    name: str,
    sources: Mapping[str, SourceClock],
    streams: Mapping[str, Stream],
    watermark_groups: Mapping[str, frozenset[str]],
) -> int:
    together = watermark_groups.get(name, frozenset((name,)))
    open_ones = [n for n in together if not sources[n].ended]
    awake = [n for n in open_ones if not sources[n].is_idle(streams[n])]
    if awake:
        return min(sources[n].heartbeat(streams[n]) for n in awake)
    if open_ones:
        return max(sources[n].heartbeat(streams[n]) for n in open_ones)
    domain = streams[name].domain
    peers = [n for n in streams if streams[n].domain is domain]
    over = all(sources[n].ended for n in peers)
    told = [
        t for n in (peers if over else together) for t in (sources[n].largest, sources[n].promise)
    ]
    if all(sources[n].largest is None for n in together):  # tables that have begun, if anything
        told += [sources[n].first for n in together]
    return max((t for t in told if t is not None), default=DAWN)


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)
