"""What a run waits for: the silent streams that hold the heartbeat of others back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from millstream.algebra.time import DAWN, Domain, spell_instant
from millstream.engine.clock import Clock
from millstream.engine.job import Job
from millstream.errors import Notice

SILENCE = 10_000_000
"""Microseconds without a sign after which people are told whom the run waits for."""

LOOK = 1_000_000
"""Microseconds between two looks."""


@dataclass(frozen=True)
class Wait:
    """A stream that has been silent since an instant of the clock, and what waits for it.

    `beat` is the heartbeat that it holds, `holds_others` whether other streams are further on.
    """

    stream: str
    partitions: tuple[str, ...]
    since: int
    beat: int
    domain: Domain
    queries: tuple[str, ...]
    holds_others: bool

    def notice(self, silent: int) -> Notice:
        """What people are told after so many microseconds."""
        first = spell_instant(self.beat + 1, self.domain)
        after = "" if self.beat <= DAWN else f" from {first} on"
        what = f'stream "{self.stream}"'
        if self.partitions:
            names = ", ".join(f'"{name}"' for name in self.partitions)
            what += f" (partition{'s' if len(self.partitions) > 1 else ''} {names})"
        waiting = f"waiting for {what}, silent for {silent // 1_000_000} s: "
        if not self.holds_others:
            return Notice(f"{waiting}its rows{after} become final when later ones come")
        whose = f" of {', '.join(self.queries)}" if self.queries else ""
        return Notice(
            f"{waiting}no answers{whose}{after} until it speaks or is declared idle",
            "Declare it WITH (idle = '30 seconds') if it may be silent while others are not.",
        )


def waits(job: Job, clock: Clock) -> Iterator[Wait]:
    """Every stream that holds a heartbeat back, whose silence nothing in the script ends."""
    groups = job.graph.watermark_groups
    for name in job.declared:
        stream, known = job.streams[name], clock.sources.get(name)
        if known is None or stream.idle is not None or stream.domain is Domain.ARRIVAL:
            continue
        if stream.is_internal or known.ended or name not in job.graph.scans:
            continue
        together = groups.get(name, frozenset((name,)))
        own = {n: p for n, p in known.partitions.items() if not p.ended}
        beat = clock.beats.get(name, DAWN)
        holding = {n: p for n, p in own.items() if p.heartbeat(stream) <= beat}
        ahead = [n for n, p in own.items() if p.heartbeat(stream) > beat]
        further = bool(ahead) or any(
            _farthest(clock, other) > beat + 1 for other in together - {name}
        )
        alone = len(together) == 1 and not ahead
        is_held = holding or (not known.partitions and further)
        if not is_held or not (further or (alone and known.largest is not None)):
            continue
        seen = max((p.seen or 0 for p in holding.values()), default=known.seen or 0)
        shown = tuple(sorted(filter(None, holding)))[:3]
        yield Wait(name, shown, seen, beat, stream.domain, _queries(job, together), not alone)


@dataclass
class Watch:
    """Tells once for every silence what the run waits for, after it has lasted for some seconds.

    A long batch is not a silence: what counts is how long a stream had brought nothing when the
    last batch was planned, and the time since then in which there was nothing to read at all.
    """

    tell: Callable[[Notice], None]
    silence: int = SILENCE
    started: int = field(default_factory=lambda: time.time_ns() // 1000)
    _idle: int | None = None
    _looked: int = 0
    _told: dict[str, int] = field(default_factory=dict)

    def look(self, job: Job, clock: Clock, idle: bool, now: int | None = None) -> None:
        """Look at the clock after a batch, or when there was nothing to read."""
        now = time.time_ns() // 1000 if now is None else now
        self._idle = (now if self._idle is None else self._idle) if idle else None
        if now - self._looked < min(LOOK, self.silence):
            return
        self._looked = now
        planned = max((c.now for c in clock.sources.values()), default=0)
        resting = 0 if self._idle is None else now - self._idle
        for wait in waits(job, clock):
            since = max(wait.since, self.started)
            silent = max(planned - since, 0) + resting
            if silent >= self.silence and self._is_new(wait, since):
                self.tell(wait.notice(silent))

    def _is_new(self, wait: Wait, since: int) -> bool:
        """A stream that holds nobody but itself back is named once in a run."""
        known = self._told.get(wait.stream)
        self._told[wait.stream] = since
        return known is None or (wait.holds_others and known != since)


def _farthest(clock: Clock, name: str) -> int:
    """How far a stream has come: its largest timestamp or promise."""
    known = clock.sources.get(name)
    if known is None:
        return DAWN
    seen = [t for p in known.partitions.values() for t in (p.largest, p.promise) if t is not None]
    return max(seen, default=DAWN)


def _queries(job: Job, streams: frozenset[str]) -> tuple[str, ...]:
    """The queries that read some of the streams."""
    graph = job.graph
    roots = [*job.changelog_roots.items(), *job.materialized_roots.items()]
    return tuple(dict.fromkeys(name for name, root in roots if graph.sources[root] & streams))
