"""How the search goes on after a failure, as tables that are made once for a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from millstream.algebra.evaluate import holds
from millstream.algebra.expressions import TRUE, Expression, rewrite
from millstream.patterns.knowledge import Failure, Knowledge, Reason, bases_of, negative
from millstream.patterns.scene import of_row
from millstream.patterns.sequence_search import BEHIND, HERE, KNOWN, MOVE, NEXT
from millstream.patterns.skipping import Decisions, Following, Source, Start

if TYPE_CHECKING:
    from millstream.patterns.sequence import Sequence
from millstream.patterns.tallies import Tally


@dataclass(frozen=True, eq=False)
class Tables:
    """What is done after every failure: `starts` are the attempts that may succeed, in order.

    The search reads them as arrays (`sequence_search`): `moves` are starts, those of a failure one
    after the other, and `index` says where they lie; `floors` and `floor_index` say the same of the
    rows that an attempt that goes on must leave, for whatever it may fail by.
    """

    sequence: Sequence
    starts: dict[Failure, tuple[Start, ...]]
    bases: tuple[Expression, ...] = ()

    @staticmethod
    def naive(sequence: Sequence) -> Tables:
        """One tuple after the start of the attempt, whatever is known."""
        return Tables(sequence, {f: (Start(NEXT),) for f in _failures(sequence, levels=False)})

    @staticmethod
    def of(sequence: Sequence) -> Tables:
        return _tables_of(sequence)

    @property
    def skips(self) -> bool:
        return any(start != Start(NEXT) for starts in self.starts.values() for start in starts)

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`index`, `moves`, `floor_index` and `floors`."""
        elements = len(self.sequence.elements)
        index = np.zeros((3, 2, elements, elements + 2, 2), np.int64)
        floor_index = np.zeros((2, elements, elements + 2, 2), np.int64)
        moves, floors = _Lines(), _Lines()
        for failure, starts in self.starts.items():
            lines = [self._move(failure, start) for start in starts]
            place = index[failure.reason.value, int(failure.taken), failure.element]
            place[self._levels(failure)] = moves.add(lines)
            kept = sorted(set(self._kept(failure)))
            floor_index[int(failure.taken), failure.element, self._levels(failure)] = floors.add(
                kept
            )
        width = MOVE + KNOWN * elements + len(self.sequence.tallies)
        return index, moves.array(width), floor_index, floors.array(2)

    def sure(self, rows: pa.RecordBatch, length: int) -> np.ndarray:
        """Of which rows no number is negative that conditions multiply: 1, else 0."""
        out = np.ones(length, np.int64)
        for base in self.bases:
            out[holds(negative(rewrite(base, of_row)), rows, length)] = 0
        return out

    def _levels(self, failure: Failure) -> slice:
        """Without numbers whose sign matters, all levels are the same."""
        return slice(failure.sure, failure.sure + 1) if self.bases else slice(None)

    def _kept(self, now: Failure) -> Iterator[tuple[int, int]]:
        """Where attempts may begin in the spans of an attempt that goes on, if it fails later."""
        if NEXT in {start.span for start in self.starts[now]}:
            yield NEXT, 0
        for failure, starts in self.starts.items():
            later = (failure.element, failure.taken) >= (now.element, now.taken)
            if later and failure.sure >= min(now.sure, now.element):
                for start in starts:
                    if 0 <= start.span < now.spans:
                        yield start.span, start.offset

    def _move(self, failure: Failure, start: Start) -> tuple[int, ...]:
        span, goes_on = start.span, NEXT if start.goes_on is None else start.goes_on
        if span == failure.spans:
            span = BEHIND if start.offset else HERE
        if goes_on == failure.spans:
            goes_on = HERE
        elements, tallies = self.sequence.elements, self.sequence.tallies
        amounts = [self._amount(tally, start.known) for tally in tallies]
        if start.goes_on is not None and None in amounts:
            return self._move(failure, Start(start.span, start.offset))
        words = [span, start.offset, goes_on, start.element, len(start.known)]
        for source in start.known:
            words += [source.span, source.offset, source.upto, int(source.single)]
        words += [0] * (KNOWN * (len(elements) - len(start.known)))
        return (*words, *(amount or 0 for amount in amounts))

    def _amount(self, tally: Tally, known: tuple[Source, ...]) -> int | None:
        """Where an aggregate over tuples that are known comes from: 0 if there are none, 1 if it is
        their number, 2 and more for that of another element; None if it cannot be had."""
        names = [e.name for e in self.sequence.elements]
        at = names.index(tally.element)
        if at >= len(known):
            return 0
        if tally.counts_rows:
            return 1
        if tally.kind is None or not known[at].whole:
            return None
        asked = (tally.call.function, tally.call.arguments, tally.rows)
        for place, other in enumerate(self.sequence.tallies):
            same = (other.call.function, other.call.arguments, other.rows) == asked
            if same and other.element == names[known[at].span]:
                return 2 + place
        return None


class _Lines:
    """Lines of arrays; the same list of lines is there once."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, ...]] = []
        self._known: dict[tuple[tuple[int, ...], ...], tuple[int, int]] = {}

    def add(self, lines: Iterable[tuple[int, ...]]) -> tuple[int, int]:
        """Where they lie."""
        key = tuple(lines)
        if key not in self._known:
            begin = len(self._lines)
            self._lines += key
            self._known[key] = (begin, len(self._lines))
        return self._known[key]

    def array(self, width: int) -> np.ndarray:
        return np.array(self._lines, np.int64).reshape(len(self._lines), width)


@lru_cache(maxsize=128)
def _tables_of(sequence: Sequence) -> Tables:
    bases, decisions = bases_of(sequence), Decisions()
    starts = {
        failure: tuple(Following(Knowledge(sequence, failure, bases), decisions).starts())
        for failure in _failures(sequence, bool(bases))
    }
    return Tables(sequence, starts, bases)


def _failures(sequence: Sequence, levels: bool) -> Iterator[Failure]:
    """All ways in which an attempt can fail, those by its first elements first."""
    for at, element in enumerate(sequence.elements):
        for taken in (False, True) if element.star else (False,):
            if at + taken == 0:
                continue
            for reason in Reason:
                if reason is Reason.CONDITION and taken and element.final == TRUE:
                    continue
                if reason is Reason.TIME and sequence.within is None:
                    continue
                most = at + taken + 1 + (reason is Reason.CONDITION)
                for sure in range(most) if levels else (0,):
                    yield Failure(reason, at, taken, sure)
