"""Aggregates that conditions ask for and the search cannot count: computed when they are missing.

The search stops where it needs one; what it is missing is computed for all partitions at once, with
what will probably be asked for next, and the search goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.blocks.machine import Failure
from millstream.patterns.scene import words_of
from millstream.patterns.sequence_search import Known
from millstream.patterns.tallies import Measure, Tally

FIRST_ROWS = 16
"""So many rows of a span are computed at first; twice as many when a longer one is asked for."""

Spans = tuple[np.ndarray, np.ndarray]
"""The rows of spans, and where the spans begin among them."""


def nothing_known(tallies: int) -> Known:
    none = np.zeros(0, np.int64)
    return Known(
        np.zeros((tallies, 0), np.int64),
        np.zeros((0, 3), np.int64),
        none,
        np.zeros(0, np.bool_),
        np.zeros(0, np.bool_),
    )


def ranges(begin: np.ndarray, length: np.ndarray) -> Spans:
    """The numbers of ranges one after the other.

    >>> [part.tolist() for part in ranges(np.array([3, 7]), np.array([2, 3]))]
    [[3, 4, 7, 8, 9], [0, 2, 5]]
    """
    starts = np.concatenate([[0], np.cumsum(length)])
    return np.arange(starts[-1]) + np.repeat(begin - starts[:-1], length), starts


@dataclass(eq=False)
class Lookups:
    """What is known of tallies over spans of rows; `element` has the number of that of each, and
    bit e of `mask` says which rows element e may take.

    Law: a tally over a span depends on the rows of the span only, so what is computed ahead changes
    nothing. What an aggregate could not take counts if the search has read it.
    Cost: the rows of the spans, at most twice, and as many again that may not be asked for.
    """

    tallies: Sequence[Tally]
    element: Sequence[int]
    measure: Measure
    rows: pa.RecordBatch
    starts: np.ndarray
    mask: np.ndarray
    ahead: int = 1
    length: int = FIRST_ROWS
    known: Known = field(init=False)
    failures: list[tuple[int, str, Failure]] = field(default_factory=list)

    def __post_init__(self) -> None:
        empty = nothing_known(len(self.tallies))
        count = len(self.mask)
        self.known = empty._replace(line=np.full((len(self.tallies), count), -1, np.int64))

    def answer(self, missing: np.ndarray) -> None:
        """Compute what is missing: lines of partition, tally, first and last row of the span."""
        if (self.known.line[missing[:, 1], missing[:, 2]] >= 0).any():
            self.length *= 2
        for t in np.unique(missing[:, 1]):
            self._compute(int(t), missing[missing[:, 1] == t])
        self.ahead = min(2 * self.ahead, 1 << 20)

    def failed(self) -> list[tuple[str, Failure]]:
        """Rows that an aggregate could not take and whose value was asked for."""
        return [(name, failure) for at, name, failure in self.failures if self.known.used[at]]

    def _compute(self, t: int, missing: np.ndarray) -> None:
        partition, first, last = missing[:, 0], missing[:, 2], missing[:, 3]
        ends, rows = self._ends(self.element[t]), self.tallies[t].rows
        base = first if rows is None else last
        least = np.maximum(self.length, 2 * (last - base + 1))
        more = self._next_starts(t, partition, first, ends)
        base, first = np.concatenate([base, more]), np.concatenate([first, more])
        least = np.concatenate([least, np.full(len(more), self.length)])
        length = np.minimum(least, ends[base] - base)
        spans = ranges(base, length)
        if rows is not None:
            spans = _reaching_back(spans, first, rows)
        self._put(t, first, base, length, spans, rows)

    def _put(
        self,
        t: int,
        first: np.ndarray,
        base: np.ndarray,
        length: np.ndarray,
        spans: Spans,
        rows: int | None,
    ) -> None:
        index, starts = spans
        wanted = None
        if rows is not None:
            wanted = np.zeros(len(index), np.bool_)
            wanted[starts[1:] - 1] = True
        made = self.measure(self.tallies[t], self.rows, index, starts, wanted)
        value, there = words_of(made.values)
        if wanted is not None:
            value, there = value[wanted], there[wanted]
        known, begin = self.known, len(self.known.value)
        places = np.arange(len(index)) if wanted is None else np.cumsum(wanted) - 1
        for name, failure in made.failures:
            if wanted is None or wanted[failure.event]:
                row = Failure(int(index[failure.event]), failure.reason)
                self.failures.append((begin + int(places[failure.event]), name, row))
        offsets = begin + np.cumsum(length) - length
        lines = np.stack([base, offsets, length], axis=1)
        known.line[t, first] = len(known.lines) + np.arange(len(first))
        self.known = Known(
            known.line,
            np.concatenate([known.lines, lines]),
            np.concatenate([known.value, value]),
            np.concatenate([known.there, there]),
            np.concatenate([known.used, np.zeros(len(value), np.bool_)]),
        )

    def _ends(self, element: int) -> np.ndarray:
        """For every row the first one after it that the element does not take, or the end."""
        takes = (self.mask >> element) & 1 == 1
        stops = ~takes
        count = len(takes)
        ends = np.where(stops, np.arange(count), count)
        ends = np.minimum.accumulate(ends[::-1])[::-1]
        limit = np.repeat(self.starts[1:], np.diff(self.starts))
        return np.minimum(ends, limit)

    def _next_starts(
        self, t: int, partition: np.ndarray, first: np.ndarray, ends: np.ndarray
    ) -> np.ndarray:
        """Rows behind those asked for at which the element may begin, as many as were seldom too
        many so far."""
        element, count = self.element[t], len(self.mask)
        can = (self.mask >> element) & 1 == 1
        if element > 0:
            can[1:] &= (self.mask[:-1] >> (element - 1)) & 1 == 1
        can &= self.known.line[t] < 0
        can[first] = False
        places = np.flatnonzero(can)
        low = np.searchsorted(places, first)
        high = np.searchsorted(places, self.starts[partition + 1])
        found, _ = ranges(low, np.minimum(high - low, self.ahead))
        found = places[found]
        sizes = np.cumsum(np.minimum(ends[found] - found, self.length))
        return found[sizes <= 2 * count + 1_000]


def _reaching_back(spans: Spans, first: np.ndarray, rows: int) -> Spans:
    """For every row of spans that begin at `first` the last rows up to it, as a span of its own."""
    index, starts = spans
    low = np.maximum(np.repeat(first, np.diff(starts)), index - rows)
    return ranges(low, index - low + 1)
