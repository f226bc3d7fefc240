"""A sequence that is looked for: its elements, what they ask of tuples, and how it is searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millstream.algebra.expressions import TRUE, Column, Expression, columns_of, name_text
from millstream.algebra.types import BOOLEAN
from millstream.blocks.machine import Failure
from millstream.columns.keys import from_words
from millstream.patterns.lookups import Lookups, nothing_known, ranges
from millstream.patterns.references import Cell, cell_of, shifted_name, unshifted
from millstream.patterns.scene import Scene, Tests
from millstream.patterns.sequence_search import (
    AVG,
    AVG_FLOAT,
    COUNT,
    HEAD,
    LONG_AGO,
    LOOKED_UP,
    OUT,
    ROWS,
    SURE,
    Pattern,
    Rows,
    Skips,
    search,
    state_words,
)
from millstream.patterns.tables import Tables
from millstream.patterns.tallies import Measure, Tally

TIMED_OUT, REACHED = "timed_out", "reached"
"""Columns of results, where attempts whose time ran out are reported: whether it did, and how many
elements have tuples."""


@dataclass(frozen=True)
class Element:
    """One tuple, or a star: one or more, as many as meet `test`. `final` is asked when it ends."""

    name: str
    star: bool = False
    test: Expression = TRUE
    final: Expression = TRUE

    def __str__(self) -> str:
        return ("*" if self.star else "") + name_text(self.name)


class Found(NamedTuple):
    """What a search has found: matches, a line of words each, the state after it, and which rows
    are needed by the next step. What a match looks like is a matter of the search."""

    matches: Any
    state: np.ndarray
    kept: np.ndarray
    tests: int
    again: int
    given_up: np.ndarray = np.zeros((0, 3), np.int64)
    """The first row of each attempt that took too many steps, and the last row it asked for."""
    failed: tuple[tuple[str, Failure], ...] = ()
    """Rows that an aggregate of one's own could not take, while the search looked at them."""


@dataclass(frozen=True)
class Sequence:
    """Elements that match adjacent tuples of a partition, one after the other.

    A match has at most `within` between its first and its last tuple; with `timeouts`, attempts
    whose time ran out are reported too.
    """

    elements: tuple[Element, ...]
    tallies: tuple[Tally, ...] = ()
    within: int | None = None
    timeouts: bool = False

    @cached_property
    def tests(self) -> Tests:
        """The conditions, and behind the columns that they are made of the arguments of tallies."""
        places = [(e.name, last, 0) for e in self.elements for last in (False, True)]
        numbers = {tally.name: i for i, tally in enumerate(self.tallies)}
        asked = [(e.name, e.test) for e in self.elements]
        made = Tests.of(asked, [e.final for e in self.elements], places, numbers)
        return replace(made, derived=(*made.derived, *self._arguments))

    @cached_property
    def _arguments(self) -> tuple[Expression, ...]:
        return tuple(
            Column(t.call.arguments[0], t.argument)
            for t in self.tallies
            if t.kind is not None and t.argument is not None
        )

    @cached_property
    def _elements_of_tallies(self) -> tuple[int, ...]:
        return tuple(self._index(tally.element) for tally in self.tallies)

    @cached_property
    def _looked_up(self) -> tuple[int, ...]:
        """The tallies that the search cannot count."""
        return tuple(i for i, tally in enumerate(self.tallies) if tally.kind is None)

    @cached_property
    def _looks_up(self) -> bool:
        """Whether conditions ask for one of them."""
        return any(self.tallies[i].name in self.needed for i in self._looked_up)

    @cached_property
    def stars(self) -> np.ndarray:
        return np.array([e.star for e in self.elements], np.bool_)

    @cached_property
    def tally_lines(self) -> np.ndarray:
        """What the search counts: element, kind, and the column of the argument."""
        lines, column = [], len(self.tests.derived) - len(self._arguments)
        for tally, element in zip(self.tallies, self._elements_of_tallies):
            counted = tally.kind is not None and tally.call.arguments
            kind = LOOKED_UP if tally.kind is None else tally.kind
            lines.append((element, kind, column if counted else -1))
            column += bool(counted)
        return np.array(lines, np.int64).reshape(len(lines), 3)

    @cached_property
    def tables(self) -> dict[bool, Tables]:
        """How the search goes on after a failure: skipping what cannot match, and one by one."""
        return {True: Tables.of(self), False: Tables.naive(self)}

    @cached_property
    def _pattern(self) -> Pattern:
        code = self.tests.code
        within = -1 if self.within is None else self.within
        return Pattern(self.stars, code.code, code.bounds, self.tally_lines, within, self.timeouts)

    @property
    def length(self) -> int:
        return len(self.elements)

    @property
    def words_of_state(self) -> int:
        return state_words(len(self.elements), len(self.tallies))

    def columns(self, gives: Iterable[str]) -> tuple[frozenset[str], frozenset[tuple[str, int]]]:
        """The columns of rows that are read for some results, and those read some tuples on."""
        names = set(self.tests.row_columns)
        names |= {a for t in self.tallies for a in t.call.arguments}
        for cell in filter(None, map(cell_of, gives)):
            names.add(shifted_name(cell.column, cell.shift))
        found = [unshifted(name) for name in names]
        plain = frozenset(name for name, _ in found)
        return plain, frozenset((name, shift) for name, shift in found if shift)

    @cached_property
    def needed(self) -> frozenset[str]:
        """The references that conditions make: cells and tallies."""
        read = [columns_of(e.test) | columns_of(e.final) for e in self.elements]
        return frozenset[str]().union(*read)

    def find(
        self,
        rows: pa.RecordBatch,
        starts: np.ndarray,
        fresh: np.ndarray,
        position: np.ndarray,
        ts: np.ndarray,
        state: np.ndarray,
        *,
        skips: bool = True,
        steps: int = 0,
        closed: bool = False,
        now: int,
        measure: Measure | None = None,
    ) -> Found:
        """Search partitions whose rows lie from `starts[p]` to `starts[p + 1]`, those from
        `fresh[p]` on for the first time. `closed` says that no more rows come."""
        scene, tables = Scene.of(self.tests, rows, len(ts)), self.tables[skips]
        counters, state = np.zeros(2, np.int64), state.copy()
        mask = scene.mask | (tables.sure(rows, len(ts)) << SURE)
        index, moves, floor_index, floors = tables.arrays
        lookups, known = None, nothing_known(len(self.tallies))
        if self._looks_up:
            assert measure is not None
            lookups = Lookups(
                self.tallies, self._elements_of_tallies, measure, rows, starts, scene.mask
            )
        count = len(starts) - 1
        todo, kept, live = np.arange(count), np.zeros(len(ts), np.bool_), starts[1:].copy()
        place = np.stack([fresh, fresh, np.full(count, LONG_AGO)], axis=1)
        parts = []
        while len(todo):
            known = known if lookups is None else lookups.known
            matches, missing = search(
                Rows(starts, position, ts, mask, scene.values, scene.known, known),
                self._pattern,
                Skips(index, moves, floor_index, floors, skips),
                closed,
                now,
                todo,
                place,
                state,
                kept,
                live,
                counters,
            )
            parts.append(matches)
            todo = missing[:, 0].copy()
            if lookups is not None and len(todo):
                lookups.answer(missing)
        kept |= np.arange(len(ts)) >= np.repeat(live, np.diff(starts))
        if self._looked_up:
            kept |= self._measured_later(state, position, starts)
        failed = () if lookups is None else tuple(lookups.failed())
        return Found(
            self._in_order(parts), state, kept, int(counters[0]), int(counters[1]), failed=failed
        )

    def _in_order(self, parts: list[np.ndarray]) -> np.ndarray:
        """Matches partition by partition, each in the order in which they were found."""
        if len(parts) == 1:
            return parts[0]
        width = OUT + 3 * len(self.elements) + 2 * len(self.tallies)
        every = np.concatenate([np.zeros((0, width), np.int64), *parts])
        return every[np.argsort(every[:, 1], kind="stable")]

    def _measured_later(
        self, state: np.ndarray, position: np.ndarray, starts: np.ndarray
    ) -> np.ndarray:
        """The rows of attempts that go on over which aggregates will be computed."""
        change = np.zeros(len(position) + 1, np.int64)
        partition = np.repeat(np.arange(len(state)), np.diff(starts))
        for i in self._looked_up:
            element, rows = self._elements_of_tallies[i], self.tallies[i].rows
            begun = self.is_going(state) & (state[:, HEAD + element] > 0)
            ends = HEAD + len(self.elements) + 2 * element
            low = np.flatnonzero(begun[partition] & (position == state[partition, ends]))
            high = np.flatnonzero(begun[partition] & (position == state[partition, ends + 1]))
            if rows is not None:
                low = np.maximum(low, high + 1 - rows)
            np.add.at(change, low, 1)
            np.add.at(change, high + 1, -1)
        return np.cumsum(change[:-1]) > 0

    def empty_state(self, partitions: int) -> np.ndarray:
        return np.zeros((partitions, self.words_of_state), np.int64)

    def partitions_of(self, matches: np.ndarray) -> np.ndarray:
        return matches[:, 1]

    def decided(self, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row that decides every match, or −1 if time does, and the instant."""
        return matches[:, 0], matches[:, 3]

    def decided_by(self, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The last row of every match, behind which the search goes on, and the furthest one that
        was looked at; −1 where a limit of time has to do with it, which is not in a row."""
        complete = (matches[:, 2] == len(self.elements)) & (not self.timeouts)
        last = matches[:, OUT + 2 * len(self.elements) - 1]
        return np.where(complete, last, -1), np.where(complete, matches[:, 0], -1)

    def rows_of(self, matches: np.ndarray, place: tuple[str, bool]) -> np.ndarray:
        """The first or last tuple of an element in every match; −1 where it has none."""
        return matches[:, OUT + 2 * self._index(place[0]) + place[1]]

    def is_going(self, state: np.ndarray) -> np.ndarray:
        """Which partitions have an attempt that is not decided."""
        return state[:, 1] == 1

    def first_position(self, state: np.ndarray) -> np.ndarray:
        """Where the attempts began."""
        return state[:, HEAD + len(self.elements)]

    def results(
        self,
        matches: np.ndarray,
        rows: pa.RecordBatch,
        gives: Mapping[str, pa.DataType],
        measure: Measure | None = None,
        failed: list[tuple[str, Failure]] | None = None,
    ) -> list[pa.Array]:
        """The values of references in every match; rows that an aggregate could not take are added
        to `failed`, unless the search has told of them."""
        out = []
        for name, kind in gives.items():
            at = next((i for i in self._looked_up if self.tallies[i].name == name), None)
            if at is None:
                out.append(self._result(matches, rows, name, kind))
                continue
            assert measure is not None
            value, failures = self._measured(matches, rows, at, measure)
            out.append(value)
            if failed is not None and name not in self.needed:
                failed += failures
        return out

    def _measured(
        self, matches: np.ndarray, rows: pa.RecordBatch, at: int, measure: Measure
    ) -> tuple[pa.Array, list[tuple[str, Failure]]]:
        """An aggregate that was not counted, over the rows of its element in every match."""
        tally, element = self.tallies[at], self._elements_of_tallies[at]
        first, last = (matches[:, OUT + 2 * element + side] for side in (0, 1))
        there = np.flatnonzero(first >= 0)
        low, high = first[there], last[there]
        if tally.rows is not None:
            low = np.maximum(low, high - tally.rows)
        index, starts = ranges(low, high + 1 - low)
        wanted = np.zeros(len(index), np.bool_)
        wanted[starts[1:] - 1] = True
        made = measure(tally, rows, index, starts, wanted)
        place = np.full(len(matches), -1)
        place[there] = starts[1:] - 1
        value = made.values.take(pa.array(place, mask=place < 0))
        value = tally.over_nothing(value, place < 0)
        return value, [(name, Failure(int(index[f.event]), f.reason)) for name, f in made.failures]

    def _result(
        self, matches: np.ndarray, rows: pa.RecordBatch, name: str, kind: pa.DataType
    ) -> pa.Array:
        cell = cell_of(name)
        if cell is not None:
            return _cell(rows, cell, self.rows_of(matches, (cell.variable, cell.last)))
        if name == REACHED:
            return pa.array(matches[:, 2])
        if name == TIMED_OUT:
            return pa.array(matches[:, 2] < len(self.elements), BOOLEAN)
        at = [tally.name for tally in self.tallies].index(name)
        return self._tally(matches, at, kind)

    def _tally(self, matches: np.ndarray, at: int, kind: pa.DataType) -> pa.Array:
        tally = self.tallies[at]
        column = OUT + 3 * len(self.elements) + 2 * at
        amounts, numbers = matches[:, column].copy(), matches[:, column + 1].copy()
        if tally.kind in (ROWS, COUNT):
            return pa.array(numbers)
        none = numbers == 0
        if tally.kind in (AVG, AVG_FLOAT):
            total = amounts.view(np.float64) if tally.kind == AVG_FLOAT else amounts
            return pa.array(total / np.maximum(numbers, 1), mask=none)
        return from_words(amounts, kind, none)

    def _index(self, name: str) -> int:
        return [e.name for e in self.elements].index(name)

    def words(self, length: Callable[[int], str]) -> str:
        """As it stands in the plan text; `length` writes a length of time."""
        words = [f"({', '.join(map(str, self.elements))})"]
        if self.within is not None:
            words.append(f"within {length(self.within)}")
        if self.timeouts:
            words.append("with timeouts")
        if self.tallies:
            words.append(f"counting {', '.join(map(str, self.tallies))}")
        tests = [f"{name_text(e.name)}: {e.test}" for e in self.elements if e.test != TRUE]
        tests += [
            f"end of {name_text(e.name)}: {e.final}" for e in self.elements if e.final != TRUE
        ]
        if tests:
            words.append(f"where {', '.join(tests)}")
        return " ".join(words)


def _cell(rows: pa.RecordBatch, cell: Cell, at: np.ndarray) -> pa.Array:
    none = at < 0
    index = pa.array(np.where(none, 0, at), mask=none)
    return rows.column(shifted_name(cell.column, cell.shift)).take(index)
