"""Points: sets of instants that are arithmetic on the clock, such as every fifth minute."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import lcm

import numpy as np

from millstream.algebra.lengths import length_text
from millstream.algebra.remainders import (
    Runs,
    as_series,
    both,
    either,
    first_only,
    joined,
    shortest,
)
from millstream.algebra.time import DAWN, INFINITY, Domain
from millstream.columns.native import native

MANY = 100_000
"""A set with more runs of remainders is not written as arithmetic any more."""

FIRST, LAST = DAWN, -DAWN
"""Ticks beyond which there is no time."""


class TooMany(Exception):
    """The set has too many runs of remainders to be written down."""


def tick_of(domain: Domain | None) -> int:
    """How far the ticks of the clock are apart: whole seconds, or the units of a column."""
    return 1_000_000 if domain is Domain.TIMESTAMP else 1


@dataclass(frozen=True)
class Stretch:
    """The ticks from `first` to `last` whose remainder by `every` is in one of the runs `at`."""

    every: int
    at: Runs
    first: int = FIRST
    last: int = LAST

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.array([a for a, _ in self.at], np.int64)

    @cached_property
    def _ends(self) -> np.ndarray:
        return np.array([b for _, b in self.at], np.int64)

    @property
    def count(self) -> int:
        """How many ticks there are in one turn of the pattern."""
        return sum(b - a + 1 for a, b in self.at)

    def from_on(self, ticks: np.ndarray) -> np.ndarray:
        """For each of the ticks the first one of the stretch at or after it, or one past the last
        where there is none."""
        here = np.maximum(ticks, self.first)
        rest = here % self.every
        run = np.searchsorted(self._ends, rest)
        again = run == len(self.at)
        at = np.maximum(self._starts[np.where(again, 0, run)], np.where(again, 0, rest))
        return here - rest + at + np.where(again, self.every, 0)

    def before(self, tick: int) -> int:
        """The last tick of the pattern at or before one, whatever `first` is."""
        rest = tick % self.every
        below = [min(b, rest) for a, b in self.at if a <= rest]
        return tick - rest + (below[-1] if below else self.at[-1][1] - self.every)

    @property
    def tightened(self) -> Stretch | None:
        """The same stretch from its first tick to its last; None if it has none."""
        first, last = self.first, self.last
        if first > FIRST:
            first = int(self.from_on(np.array([first]))[0])
        if last < LAST:
            last = self.before(last)
        return replace(self, first=first, last=last) if first <= last else None

    def expanded(self, every: int) -> Runs:
        """The runs of remainders by a multiple of `every`."""
        times = every // self.every
        if times * len(self.at) > MANY:
            raise TooMany
        if self.at == ((0, self.every - 1),):
            return ((0, every - 1),)
        steps = range(0, every, self.every)
        return joined((a + step, b + step) for step in steps for a, b in self.at)

    @property
    def longest_wait(self) -> int:
        """The most ticks from one of the pattern to the next."""
        around = [*self.at, (self.at[0][0] + self.every, 0)]
        return max(1, *(b[0] - a[1] for a, b in pairwise(around)))


@dataclass(frozen=True)
class Points:
    """Instants that are multiples of `tick`, in stretches one after the other.

    Law: sets that are equal and were made by the functions here have equal stretches as long as
    these are without bounds; `contains` tells of any two.
    """

    tick: int
    stretches: tuple[Stretch, ...]

    @staticmethod
    def all(tick: int) -> Points:
        return Points(tick, (Stretch(1, ((0, 0),)),))

    @staticmethod
    def none(tick: int) -> Points:
        return Points(tick, ())

    @staticmethod
    def every(ticks: int, offset: int, tick: int) -> Points:
        """Every so many ticks, from the offset on."""
        return Points(tick, (Stretch(ticks, ((offset % ticks,) * 2,)),))

    @staticmethod
    def between(first: int, last: int, tick: int) -> Points:
        """All ticks from the first to the last."""
        if first > last:
            return Points.none(tick)
        return Points(tick, (Stretch(1, ((0, 0),), max(first, FIRST), min(last, LAST)),))

    @property
    def is_every_instant(self) -> bool:
        return self == Points.all(1)

    def from_on(self, instants: np.ndarray) -> np.ndarray:
        """For each of the instants the first point at or after it; INFINITY where there is none."""
        if (period := self.period) is not None:
            (only,) = self.stretches
            return _multiples(instants, period * self.tick, only.at[0][0] * self.tick)
        ticks = -(-instants // self.tick)
        found = np.full(len(ticks), INFINITY, np.int64)
        for stretch in reversed(self.stretches):
            fits = ticks <= stretch.last
            if fits.any():
                next_one = stretch.from_on(np.where(fits, ticks, stretch.first))
                fits &= next_one <= stretch.last
                found = np.where(fits, next_one * self.tick, found)
        return np.where(instants == INFINITY, INFINITY, found)

    def within(self, start: int, end: int) -> np.ndarray:
        """The points after `start` and up to `end`, in order."""
        parts = []
        for stretch in self.stretches:
            first = max(start // self.tick + 1, stretch.first)
            last = min(end // self.tick, stretch.last)
            if first <= last:
                parts.append(_ticks(stretch, first, last))
        return np.concatenate(parts) * self.tick if parts else np.zeros(0, np.int64)

    def cuts(self, start: int, end: int, most: int) -> list[int]:
        """Instants within a stretch of time that part it into pieces of about so many points."""
        spacing = max((s.every // s.count for s in self.stretches), default=1)
        step = max(most * spacing * self.tick, 1)
        return list(range(start + step, end, step)) if end - start > step else []

    def first_from(self, instant: int) -> int | None:
        """The first point at or after an instant."""
        found = int(self.from_on(np.array([instant], np.int64))[0])
        return None if found == INFINITY else found

    @property
    def longest_wait(self) -> int | None:
        """How long an instant waits for the next point at the most; None where for ever."""
        if len(self.stretches) != 1:
            return None
        (only,) = self.stretches
        if only.first > FIRST or only.last < LAST:
            return None
        return only.longest_wait * self.tick

    @cached_property
    def period(self) -> int | None:
        """The ticks from one point to the next, where these are all alike."""
        if self.longest_wait is None:
            return None
        (only,) = self.stretches
        return only.every if len(only.at) == 1 and only.at[0][0] == only.at[0][1] else None

    def __and__(self, other: Points) -> Points:
        return self._combined(other, both)

    def __or__(self, other: Points) -> Points:
        return self._combined(other, either)

    def __sub__(self, other: Points) -> Points:
        return self._combined(other, first_only)

    def __invert__(self) -> Points:
        return Points.all(self.tick) - self

    def contains(self, other: Points) -> bool:
        """Whether every point of the other is one of these."""
        return not (other - self).stretches

    def _combined(self, other: Points, combine: Combine) -> Points:
        if self.tick != other.tick:
            raise ValueError("points of two clocks")
        edges = {FIRST, LAST + 1}
        for stretch in (*self.stretches, *other.stretches):
            edges |= {stretch.first, stretch.last + 1}
        parts = []
        for first, after in pairwise(sorted(edges)):
            mine, theirs = self._there(first), other._there(first)
            every = lcm(mine.every if mine else 1, theirs.every if theirs else 1)
            a, b = (found.expanded(every) if found else () for found in (mine, theirs))
            runs = combine(a, b, every)
            if len(runs) > MANY:
                raise TooMany
            if runs:
                parts.append(Stretch(*shortest(every, runs), first, after - 1))
        return Points(self.tick, _put_together(parts))

    def _there(self, tick: int) -> Stretch | None:
        return next((s for s in self.stretches if s.first <= tick <= s.last), None)

    def words(self, domain: Domain | None) -> str:
        """The set as it stands in plan text.

        >>> (Points.every(10, 0, 1) | Points.every(10, 3, 1)).words(Domain.INTEGER)
        'every 10 at 0, 3'
        """
        return " and ".join(self._stretch_words(s, domain) for s in self.stretches) or "never"

    def _stretch_words(self, stretch: Stretch, domain: Domain | None) -> str:
        text = f"every {length_text(stretch.every * self.tick, domain)}"
        if stretch.at != ((0, 0),):
            series = as_series(stretch.at)
            text += " at " + ", ".join(self._series_words(part, domain) for part in series)
        if stretch.first > FIRST:
            text += f" from {self._instant_words(stretch.first, domain)}"
        if stretch.last < LAST:
            text += f" until {self._instant_words(stretch.last, domain)}"
        return text

    def _series_words(self, series: tuple[int, int, int], domain: Domain | None) -> str:
        first, last, step = (length_text(tick * self.tick, domain) for tick in series)
        text = first if first == last else f"{first} to {last}"
        return text if series[2] == 1 else f"{text} by {step}"

    def _instant_words(self, tick: int, domain: Domain | None) -> str:
        if domain is not Domain.TIMESTAMP:
            return str(tick)
        try:
            moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=tick * self.tick)
        except OverflowError:
            return str(tick)
        return f"'{moment.isoformat(sep=' ')}'"


def patterned(parts: Sequence[tuple[int, Runs, int, int]], tick: int) -> Points:
    """Points from stretches (every, runs, first, last) one after the other."""
    return Points(
        tick, _put_together([Stretch(*shortest(e, r), f, t) for e, r, f, t in parts if r])
    )


@native
def _multiples(instants: np.ndarray, every: int, offset: int) -> np.ndarray:
    """For each of the instants the first one at or after it that leaves the offset as remainder."""
    out = np.empty(len(instants), np.int64)
    for i in range(len(instants)):
        at = instants[i]
        out[i] = at if at == INFINITY else at + (offset - at) % every
    return out


Combine = Callable[[Runs, Runs, int], Runs]


def _put_together(parts: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """Stretches from their first tick to their last, neighbours of one pattern as one."""
    made: list[Stretch] = []
    for part in parts:
        tight = part.tightened
        if tight is None:
            continue
        if made and _goes_on(made[-1], tight):
            made[-1] = replace(made[-1], last=tight.last)
        else:
            made.append(tight)
    return tuple(made)


def _goes_on(a: Stretch, b: Stretch) -> bool:
    """Whether the second stretch goes on with the pattern of the first, without a gap."""
    if (a.every, a.at) != (b.every, b.at):
        return False
    return int(a.from_on(np.array([a.last + 1]))[0]) == b.first


def _ticks(stretch: Stretch, first: int, last: int) -> np.ndarray:
    """The ticks of a stretch from the first to the last."""
    turns = np.arange(first // stretch.every, last // stretch.every + 1, dtype=np.int64)
    within = np.concatenate([np.arange(a, b + 1, dtype=np.int64) for a, b in stretch.at])
    found = (turns[:, None] * stretch.every + within[None, :]).ravel()
    low, high = np.searchsorted(found, [first, last + 1])
    return found[low:high]
