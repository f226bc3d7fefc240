"""The clock of a job: the timestamps and promises of every source, and the heartbeats from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from millstream.algebra.time import DAWN, Domain, Span
from millstream.catalog import Stream


@dataclass(frozen=True)
class Header:
    """What reading a slice shows about its source, apart from the rows.

    `partition` is the one that the slice is of, "" for a source that is one sequence, None when
    the header is about the whole source. `now` is the clock of the batch, in microseconds;
    `promise` a heartbeat sent by the source. `bad` rows are those that are `unreadable`, which are
    not among `rows`, and those that are no elements, which are.
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
    partition: str | None = None
    unreadable: int = 0


@dataclass(frozen=True)
class PartitionClock:
    """What is known of one partition: its largest timestamp, its promise, its last sign."""

    largest: int | None = None
    promise: int | None = None
    ended: bool = False
    seen: int | None = None

    def after(self, header: Header) -> PartitionClock:
        """The clock after a header of the partition."""
        sign = header.rows > 0 or header.promise is not None or self.seen is None
        return PartitionClock(
            largest=_most(self.largest, header.largest),
            promise=_most(self.promise, header.promise),
            ended=self.ended or header.ended,
            seen=_most(self.seen, header.now) if sign else self.seen,
        )

    def heartbeat(self, stream: Stream) -> int:
        """No more elements of the partition at or before this instant will come."""
        slack = 0 if stream.domain is Domain.ARRIVAL else stream.slack + 1
        beat = DAWN if self.largest is None else self.largest - slack
        return beat if self.promise is None else max(beat, self.promise)


@dataclass(frozen=True)
class SourceClock:
    """What is known of one source: its first timestamp, its end, and the clocks of its partitions.

    A source that is one sequence has one partition, named "", from its first rows on. `promise` is
    the heartbeat at which partitions of a stream that Spark feeds begin, or to which time has gone
    on after the end; `newest` the largest timestamp that was ever read, also in partitions that are
    no more.
    """

    first: int | None = None
    promise: int | None = None
    ended: bool = False
    seen: int | None = None
    now: int = 0
    rows: int = 0
    late: int = 0
    bad: int = 0
    newest: int | None = None
    partitions: Mapping[str, PartitionClock] = field(default_factory=dict)

    @property
    def largest(self) -> int | None:
        """The largest timestamp in any partition."""
        seen = [p.largest for p in self.partitions.values() if p.largest is not None]
        return max(seen, default=None)

    @property
    def last(self) -> int | None:
        """The largest timestamp so far; that of partitions which are no more is not known, and
        their heartbeat stands for it."""
        return self.promise if self.largest is None else self.largest

    def after(self, headers: Sequence[Header], beat: int) -> SourceClock:
        """The clock after some headers. A partition that is new begins at the heartbeat `beat`."""
        if not headers:
            return self
        partitions = dict(self.partitions)
        begin = PartitionClock(promise=_most(self.promise, beat if beat > DAWN else None))
        for header in headers:
            if (name := header.partition) is not None:
                partitions[name] = partitions.get(name, begin).after(header)
        return SourceClock(
            first=_least(self.first, *(header.first for header in headers)),
            promise=_most(self.promise, *(h.promise for h in headers if h.partition is None)),
            ended=self.ended or any(h.ended for h in headers if h.partition is None),
            seen=headers[0].now if self.seen is None else self.seen,
            now=max(self.now, *(header.now for header in headers)),
            rows=self.rows + sum(header.rows for header in headers),
            late=self.late + sum(header.late for header in headers),
            bad=self.bad + sum(header.bad for header in headers),
            newest=_most(self.newest, *(header.largest for header in headers)),
            partitions=partitions,
        )

    def open_ones(self) -> list[PartitionClock]:
        """The partitions that may bring more; of a source without any yet, one of its own."""
        if self.ended:
            return []
        if not self.partitions:
            return [PartitionClock(promise=self.promise, seen=self.seen)]
        return [part for part in self.partitions.values() if not part.ended]

    def heartbeat(self, stream: Stream) -> int:
        """No more elements at or before this instant will come: the least of all partitions."""
        if stream.is_internal:
            return self.now if self.now else DAWN
        parts = self.open_ones() or self.partitions.values()
        return min((part.heartbeat(stream) for part in parts), default=DAWN)

    def renewed(self, stream: Stream) -> SourceClock:
        """The clock for other partitions, which begin at the heartbeat of those so far."""
        beat = self.heartbeat(stream)
        promise = beat if beat > DAWN else self.promise
        return replace(self, promise=promise, partitions={})

    @staticmethod
    def from_json(data: dict[str, Any]) -> SourceClock:
        """A commit of an older format can be read as well: it is refused later, by its format."""
        parts = {n: PartitionClock(**p) for n, p in data.get("partitions", {}).items()}
        known = {f.name: data[f.name] for f in fields(SourceClock) if f.name in data}
        return SourceClock(**{**known, "partitions": parts})


@dataclass(frozen=True)
class Clock:
    """The clocks of all sources, and the heartbeat of every stream's watermark group so far."""

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
        """The clock after a batch: the least heartbeat in a watermark group, never going back.

        The partitions of all its streams count alike. A partition that has ended does not hold the
        others back; when all sources of a time domain have ended, the last instant is the largest
        timestamp or heartbeat seen on any of them. The order of the headers does not matter.
        """
        heard: dict[str, list[Header]] = {name: [] for name in streams}
        for header in headers:
            if header.source in heard:
                heard[header.source].append(_settled(header, streams[header.source]))
        sources = {}
        for name, stream in streams.items():
            clock = self.sources.get(name, SourceClock())
            if stream.foreign and any(header.partition is not None for header in heard[name]):
                clock = clock.renewed(stream)
            sources[name] = clock.after(heard[name], self.beats.get(name, DAWN))
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
        sources = {n: SourceClock.from_json(c) for n, c in data["sources"].items()}
        return Clock(sources, dict(data["beats"]))

    def without_ends(self) -> Clock:
        """The same clock for a run that goes on: no source has ended."""
        return replace(self, sources={n: _going_on(c) for n, c in self.sources.items()})


def _beat(
    name: str,
    sources: Mapping[str, SourceClock],
    streams: Mapping[str, Stream],
    watermark_groups: Mapping[str, frozenset[str]],
) -> int:
    together = watermark_groups.get(name, frozenset((name,)))
    beats, awake, rested, by_clock = [], [], [], False
    for one in sorted(together):
        clock, stream = sources[one], streams[one]
        for part in clock.open_ones():
            beats.append(clock.heartbeat(stream) if stream.is_internal else part.heartbeat(stream))
            rest = _rest(part, clock.now, stream)
            awake.append(rest <= 0)
            rested.append(rest)
            by_clock |= stream.by_clock
    if beats:
        last = max(beats)
        silent = last + min(rested) if by_clock and last > DAWN else last
        return min((b for b, up in zip(beats, awake) if up), default=silent)
    domain = streams[name].domain
    peers = [n for n in streams if streams[n].domain is domain]
    over = all(sources[n].ended for n in peers)
    seen = [
        t
        for n in (peers if over else together)
        for part in sources[n].partitions.values()
        for t in (part.largest, part.promise)
    ]
    seen += [sources[n].promise for n in (peers if over else together)]
    if all(sources[n].largest is None for n in together):  # tables that have begun, if anything
        seen += [sources[n].first for n in together]
    return max((t for t in seen if t is not None), default=DAWN)


def _settled(header: Header, stream: Stream) -> Header:
    """A partition that Spark feeds does not hold the heartbeat back before its first element."""
    silent = stream.foreign and header.largest is None
    return replace(header, partition=None) if silent else header


def _rest(part: PartitionClock, now: int, stream: Stream) -> int:
    """How long a partition has been idle by the clock; 0 or less where it is not."""
    if stream.idle is None or part.seen is None:
        return 0
    return now - part.seen - stream.idle


def _going_on(clock: SourceClock) -> SourceClock:
    parts = {n: replace(part, ended=False) for n, part in clock.partitions.items()}
    return replace(clock, ended=False, partitions=parts)


def _least(*instants: int | None) -> int | None:
    return min((t for t in instants if t is not None), default=None)


def _most(*instants: int | None) -> int | None:
    return max((t for t in instants if t is not None), default=None)
