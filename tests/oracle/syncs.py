"""Streams of time points, instant by instant (semantics §8)."""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from .forms import is_stream, leaves_of, table_of, view_of
from .spec import After, AnyQuery, Both, Events, Script, Ticks
from .windows import Element

COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


Streams = dict[str, list[Element]]


@dataclass(frozen=True)
class Points:
    """Instants in order."""

    instants: tuple[int, ...]

    def last_until(self, at: int) -> int | None:
        place = bisect_right(self.instants, at)
        return self.instants[place - 1] if place else None

    def first_from(self, at: int) -> int | None:
        place = bisect_left(self.instants, at)
        return self.instants[place] if place < len(self.instants) else None

    def within(self, first: int, last: int) -> tuple[int, ...]:
        return self.instants[bisect_left(self.instants, first) : bisect_right(self.instants, last)]


def points_of(script: Script, streams: Streams, name: str, end: int) -> Points:
    """The points of a sync between the first and the last instant of the run.

    What is made of the clock alone has its points whenever the streams begin; a clock that meets
    streams ticks from the first of its own on.
    """
    return _points(script, streams, name, end, is_of_clock(script, name))


def elements_of(script: Script, streams: Streams, name: str, end: int) -> Points:
    """The elements of a sync that is made of the clock, as a stream."""
    return _points(script, streams, name, end, False)


def _points(script: Script, streams: Streams, name: str, end: int, from_start: bool) -> Points:
    domain = sync_domain(script, name)
    there = [s.name for s in script.streams if s.domain == domain]
    begin = min((e.ts for stream in there for e in streams[stream]), default=None)
    if begin is None:
        return Points(())
    clock = _Clock(script, streams, begin, end, 1_000_000 if domain == "timestamp" else 1)
    return Points(tuple(sorted(clock.points(name, from_start))))


def sync_domain(script: Script, name: str) -> str:
    """The time domain of a sync."""
    match next(sync.of for sync in script.syncs if sync.name == name):
        case Both(_, left, _):
            return sync_domain(script, left)
        case Ticks(clock=None):
            return script.streams[0].domain
        case Ticks(clock=stream) | Events(stream=stream) | After(stream=stream):
            return next(s.domain for s in script.streams if s.name == stream)
    raise TypeError(name)


def is_of_clock(script: Script, name: str) -> bool:
    """Whether a sync is made of the clock and nothing else."""
    match next(sync.of for sync in script.syncs if sync.name == name):
        case Ticks():
            return True
        case Both(_, left, right):
            return is_of_clock(script, left) and is_of_clock(script, right)
    return False


@dataclass(frozen=True)
class _Clock:
    script: Script
    streams: Streams
    first: int
    last: int
    tick: int

    def ticks(self, clock: str | None, from_start: bool) -> list[int]:
        """The ticks of the clock of a stream, or of the run."""
        begin = self.first
        if clock is not None and not from_start:
            begin = min((e.ts for e in self.streams[clock]), default=self.last + 1)
        first = -(-begin // self.tick)
        return [t * self.tick for t in range(first, self.last // self.tick + 1)]

    def points(self, name: str, from_start: bool) -> set[int]:
        match next(sync.of for sync in self.script.syncs if sync.name == name):
            case Ticks(every, at, first, clock):
                return {
                    t
                    for t in self.ticks(clock, from_start)
                    if self.is_at(t // self.tick, every, at)
                    and (first is None or t // self.tick >= first)
                }
            case Events(stream, column, op, value):
                spec = next(s for s in self.script.streams if s.name == stream)
                place = [c for c, _ in spec.columns].index(column)
                return {
                    e.ts
                    for e in self.streams[stream]
                    if e.row[place] is not None and COMPARE[op](e.row[place], value)
                }
            case After(stream, delay):
                ticks = set(self.ticks(stream, False))
                return {e.ts + delay for e in self.streams[stream]} & ticks
            case Both(op, left, right):
                a, b = self.points(left, from_start), self.points(right, from_start)
                return a | b if op == "union" else a & b
        raise TypeError(name)

    def is_at(self, tick: int, every: int, at: int) -> bool:
        """Whether `tick % every = at`, a remainder having the sign of the tick."""
        rest = abs(tick) % every
        return (rest if tick >= 0 else -rest) == at


def clocks_of(script: Script, query: AnyQuery) -> frozenset[str] | None:
    """The syncs of all that a query reads; None if something of it is not synchronized."""
    found: set[str] = set()
    for leaf in leaves_of(script, query):
        table = table_of(script, leaf.of)
        if leaf.sync is not None:
            found.add(leaf.sync)
        elif table is not None and table.is_static:
            continue
        elif table is not None or is_stream(script, leaf):
            return None
        else:
            inner = clocks_of(script, view_of(script, leaf.of))
            if inner is None:
                return None
            found |= inner
    return frozenset(found)
