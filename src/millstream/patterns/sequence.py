"""A sequence that is looked for: its elements, what they ask of tuples, and how it is searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import TRUE, Column, Expression, columns_of, name_text
from millstream.algebra.types import BOOLEAN, DOUBLE, INTEGER
from millstream.columns.keys import from_words
from millstream.patterns.postfix import WORDS
from millstream.patterns.references import Cell, cell_of, shifted_name, unshifted
from millstream.patterns.scene import Scene, Tests
from millstream.patterns.sequence_search import (
    AVG,
    AVG_FLOAT,
    COUNT,
    HEAD,
    MAX,
    MAX_FLOAT,
    MIN,
    MIN_FLOAT,
    OUT,
    ROWS,
    SUM,
    SUM_FLOAT,
    SURE,
    Pattern,
    Rows,
    Skips,
    search,
    state_words,
)
from millstream.patterns.tables import Tables

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


@dataclass(frozen=True)
class Tally:
    """An aggregate over the tuples of a star so far, or over the last of them: `rows` before the
    current one. `argument` is the type of what it takes, if it takes something."""

    element: str
    call: AggregateCall
    argument: pa.DataType | None = None
    rows: int | None = None

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def kind(self) -> int | None:
        """What the search counts for it; None if its rows have to be looked at again."""
        if self.rows is not None:
            return None
        return kind_of(self.call, self.argument)

    def __str__(self) -> str:
        within = "" if self.rows is None else f" over {self.rows}"
        return f"{self.call} of {name_text(self.element)}{within}"


def kind_of(call: AggregateCall, argument: pa.DataType | None) -> int | None:
    """How the search counts an aggregate, if it can."""
    if len(call.arguments) > 1 or call.parameter is not None:
        return None
    floating = call.type == DOUBLE
    match call.function:
        case "count":
            return COUNT if call.arguments else ROWS
        case "sum" if call.type in (INTEGER, DOUBLE):
            return SUM_FLOAT if floating else SUM
        case "min" | "max" if call.type in WORDS or floating:
            low, high = (MIN_FLOAT, MAX_FLOAT) if floating else (MIN, MAX)
            return low if call.function == "min" else high
        case "avg" if argument in (INTEGER, DOUBLE):
            return AVG_FLOAT if argument == DOUBLE else AVG
    return None


class Found(NamedTuple):
    """What a search has found: matches, a line of words each, the state after it, and which rows
    are needed by the next step. What a match looks like is a matter of the search."""

    matches: Any
    state: np.ndarray
    kept: np.ndarray
    tests: int
    again: int
    given_up: np.ndarray = np.zeros((0, 2), np.int64)
    """The first row of each attempt that took too many steps, and the last row it asked for."""


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
    def stars(self) -> np.ndarray:
        return np.array([e.star for e in self.elements], np.bool_)

    @cached_property
    def tally_lines(self) -> np.ndarray:
        """What the search counts: element, kind, and the column of the argument."""
        names = [e.name for e in self.elements]
        lines, column = [], len(self.tests.derived) - len(self._arguments)
        for tally in self.tallies:
            counted = tally.kind is not None and tally.call.arguments
            kind = ROWS if tally.kind is None else tally.kind
            lines.append((names.index(tally.element), kind, column if counted else -1, -1))
            column += bool(counted)
        return np.array(lines, np.int64).reshape(len(lines), 4)

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
    ) -> Found:
        """Search partitions whose rows lie from `starts[p]` to `starts[p + 1]`, those from
        `fresh[p]` on for the first time. `closed` says that no more rows come."""
        scene, tables = Scene.of(self.tests, rows, len(ts)), self.tables[skips]
        counters, state = np.zeros(2, np.int64), state.copy()
        mask = scene.mask | (tables.sure(rows, len(ts)) << SURE)
        index, moves, floor_index, floors = tables.arrays
        matches, kept, live = search(
            Rows(starts, fresh, position, ts, mask, scene.values, scene.known),
            self._pattern,
            Skips(index, moves, floor_index, floors, skips),
            closed,
            now,
            state,
            counters,
        )
        kept |= np.arange(len(ts)) >= np.repeat(live, np.diff(starts))
        return Found(matches, state, kept, int(counters[0]), int(counters[1]))

    def empty_state(self, partitions: int) -> np.ndarray:
        return np.zeros((partitions, self.words_of_state), np.int64)

    def partitions_of(self, matches: np.ndarray) -> np.ndarray:
        return matches[:, 1]

    def decided(self, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row that decides every match, or −1 if time does, and the instant."""
        return matches[:, 0], matches[:, 3]

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
        self, matches: np.ndarray, rows: pa.RecordBatch, gives: Mapping[str, pa.DataType]
    ) -> list[pa.Array]:
        """The values of references in every match."""
        return [self._result(matches, rows, name, kind) for name, kind in gives.items()]

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
