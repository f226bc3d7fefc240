"""The results of MATCH_RECOGNIZE: a line for each match, or for each row that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from millstream.algebra.expressions import name_text
from millstream.blocks.machine import Failure
from millstream.columns.keys import from_words
from millstream.patterns.classifiers import CLASSIFIED, MATCH_NUMBER
from millstream.patterns.recognition_program import HIDDEN
from millstream.patterns.recognition_search import DISTINCT, running
from millstream.patterns.references import Cell, cell_of
from millstream.patterns.scene import words_of
from millstream.patterns.sequence_search import AVG, AVG_FLOAT, COUNT
from millstream.patterns.tallies import Measure, OwnCall, Tally

if TYPE_CHECKING:
    from millstream.patterns.recognition import Recognition

FINAL = "final "
"""Before a reference that looks at the whole match, and not at what lies before a row of it."""

MATCHED = "is_matched()"
"""Whether a row that is shown is one of a match."""

_ROW = re.compile(r"row\((.*)\)", re.DOTALL)


def row_column(name: str) -> str:
    """The reference to a column of the row that is shown.

    >>> row_column("price")
    'row(price)'
    """
    return f"row({name_text(name)})"


def column_of_row(reference: str) -> str | None:
    """The column of such a reference."""
    found = _ROW.fullmatch(reference)
    if found is None:
        return None
    name = found[1]
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def cells_read(references: Iterable[str]) -> set[str]:
    """The columns that references read."""
    found = set()
    for reference in references:
        cell = cell_of(reference.removeprefix(FINAL))
        column = column_of_row(reference)
        found |= {cell.column} if cell is not None else set()
        found |= {column} if column is not None else set()
    return found


@dataclass(frozen=True, eq=False)
class Matches:
    """Matches, and the lines that are shown of them.

    `found` has a line for each match: partition, first row, number of rows, number, and the row
    that decides it; `path` the labels of their rows. Line i shows the first `upto[i]` rows of
    match `match[i]`, and the row `row[i]`; no match is −1.
    """

    found: np.ndarray
    path: np.ndarray
    match: np.ndarray
    upto: np.ndarray
    row: np.ndarray
    partition: np.ndarray
    low: np.ndarray
    high: np.ndarray
    ts: np.ndarray

    @staticmethod
    def of(
        found: np.ndarray,
        path: np.ndarray,
        rows: pa.RecordBatch,
        starts: np.ndarray,
        ts: np.ndarray,
        shows: str,
    ) -> Matches:
        length, count = found[:, 2], len(found)
        if shows == "one":
            match, upto, row = np.arange(count), length, found[:, 1]
        else:
            empty = 0 if shows == "all omit empty" else 1
            lines = np.where(length == 0, empty, length)
            match = np.repeat(np.arange(count), lines)
            nth = np.arange(len(match)) - np.repeat(np.cumsum(lines) - lines, lines)
            upto = np.where(length[match] == 0, 0, nth + 1)
            row = found[match, 1] + nth
            offset = np.cumsum(length) - length
            at = np.where(upto > 0, offset[match] + nth, 0)
            hidden = (upto > 0) & (path[at] & HIDDEN != 0) if len(path) else upto < 0
            match, upto, row = match[~hidden], upto[~hidden], row[~hidden]
        partition = found[match, 0]
        if shows == "all with unmatched":
            seen = np.zeros(len(ts) + 1, np.int64)
            np.add.at(seen, found[:, 1], 1)
            np.add.at(seen, found[:, 1] + np.maximum(length, 1), -1)
            others = np.flatnonzero(np.cumsum(seen[:-1]) == 0)
            match = np.concatenate([match, np.full(len(others), -1)])
            upto = np.concatenate([upto, np.zeros(len(others), np.int64)])
            row = np.concatenate([row, others])
            of_others = np.searchsorted(starts, others, side="right") - 1
            partition = np.concatenate([partition, of_others])
        low, high = starts[partition], starts[partition + 1]
        return Matches(found, path, match, upto, row, partition, low, high, ts)

    def __len__(self) -> int:
        return len(self.match)

    @cached_property
    def decider(self) -> np.ndarray:
        """The row that decides each line; that of no match is itself."""
        if not len(self.found):
            return self.row
        return np.where(self.match < 0, self.row, self.found[self.match, 4])

    @property
    def instant(self) -> np.ndarray:
        return self.ts[self.decider]

    @cached_property
    def offset(self) -> np.ndarray:
        """Where the labels of each match begin."""
        length = self.found[:, 2]
        return np.append(np.cumsum(length) - length, 0)

    def span(self, final: bool) -> tuple[np.ndarray, np.ndarray]:
        """The labels that each line looks at, from and to."""
        begin = self.offset[self.match]
        length = np.append(self.found[:, 2], 0)[self.match] if final else self.upto
        return begin, begin + length

    def place(self, bits: int, cell: Cell, final: bool) -> np.ndarray:
        """The row that each line reads a cell from; −1 if there is none."""
        at = self._nth(bits, cell.last, cell.nth, final)
        row = self._row_of(at) + cell.shift
        outside = (at < 0) | (row < self.low) | (row >= self.high)
        return np.where(outside, -1, row)

    def place_of_last(self, bits: int, final: bool) -> np.ndarray:
        """Where the label of the last row of some stands, for each line; −1 if there is none."""
        return self._nth(bits, True, 0, final)

    def label(self, bits: int, final: bool) -> np.ndarray:
        """The variable of the last row of some, in each line; −1 if there is none."""
        at = self.place_of_last(bits, final)
        path = np.append(self.path, 0)
        return np.where(at < 0, -1, path[at] & ~HIDDEN)

    def _nth(self, bits: int, last: bool, nth: int, final: bool) -> np.ndarray:
        mine = (bits >> (self.path & ~HIDDEN).astype(np.int64)) & 1 == 1
        places = np.append(np.flatnonzero(mine), 0)
        before = np.append(0, np.cumsum(mine))
        begin, end = self.span(final)
        low, high = before[begin], before[end]
        index = high - 1 - nth if last else low + nth
        there = (index >= low) & (index < high)
        return np.where(there, places[np.where(there, index, -1)], -1)

    def _row_of(self, at: np.ndarray) -> np.ndarray:
        first = np.append(self.found[:, 1], 0)[self.match]
        return first + at - self.offset[self.match]


def given(
    search: Recognition,
    matches: Matches,
    rows: pa.RecordBatch,
    tallies: Mapping[str, Tally],
    reference: str,
    kind: pa.DataType,
) -> pa.Array:
    """What a reference is in every line."""
    final, name = reference.startswith(FINAL), reference.removeprefix(FINAL)
    none = matches.match < 0
    if reference == MATCHED:
        return pa.array(~none)
    if (column := column_of_row(reference)) is not None:
        return rows.column(column).take(pa.array(matches.row))
    if name in tallies:
        return _tally(search, matches, rows, tallies[name], final, kind)
    if (cell := cell_of(name)) is not None:
        at = matches.place(search.bits(cell.variable), cell, final)
        return rows.column(cell.column).take(pa.array(at, mask=at < 0))
    if name == MATCH_NUMBER:
        return pa.array(np.append(matches.found[:, 3], 0)[matches.match], mask=none)
    found = CLASSIFIED.fullmatch(name)
    assert found is not None, reference
    label = matches.label(search.bits(found["variable"]), final)
    return pa.array(search.variables, pa.string()).take(pa.array(label, mask=label < 0))


def kind_of_tally(tally: Tally) -> int | None:
    """How the search counts it; None if it cannot."""
    if isinstance(tally.call, OwnCall):
        return None
    return DISTINCT if tally.call.function == "count_distinct" else tally.kind


def _tally(
    search: Recognition,
    matches: Matches,
    rows: pa.RecordBatch,
    tally: Tally,
    final: bool,
    kind: pa.DataType,
) -> pa.Array:
    counted = kind_of_tally(tally)
    assert counted is not None
    values = np.zeros((1, rows.num_rows), np.int64)
    known = np.ones((1, rows.num_rows), np.bool_)
    if tally.call.arguments:
        values[0], known[0] = words_of(rows.column(tally.call.arguments[0]))
    bits = search.bits(tally.element)
    amount, number = running(matches.found, matches.path, bits, counted, 0, values, known)
    begin, end = matches.span(final)
    at = np.where(end > begin, end - 1, -1)
    amounts, numbers = np.append(amount, 0)[at], np.append(number, 0)[at]
    if counted <= COUNT or counted == DISTINCT:
        return pa.array(numbers, mask=matches.match < 0)
    none = numbers == 0
    if counted in (AVG, AVG_FLOAT):
        total = amounts.view(np.float64) if counted == AVG_FLOAT else amounts
        return pa.array(total / np.maximum(numbers, 1), mask=none)
    return from_words(amounts, kind, none)


def measured(
    search: Recognition,
    matches: Matches,
    rows: pa.RecordBatch,
    tally: Tally,
    final: bool,
    measure: Measure,
) -> tuple[pa.Array, list[tuple[str, Failure]]]:
    """An aggregate that is not counted, in every line: it is computed once for every match, and
    each line has what it is after the last row that the line looks at."""
    found, path, bits = matches.found, matches.path, search.bits(tally.element)
    mine = (bits >> (path & ~HIDDEN).astype(np.int64)) & 1 == 1
    length = found[:, 2]
    begins = np.cumsum(length) - length
    row = np.arange(len(path)) + np.repeat(found[:, 1] - begins, length)
    before = np.append(0, np.cumsum(mine))
    index, starts = row[mine], before[np.append(begins, len(path))]
    made = measure(tally, rows, index, starts, None)
    at = matches.place_of_last(bits, final)
    event = before[np.maximum(at, 0)]
    value = made.values.take(pa.array(event, mask=at < 0))
    value = tally.over_nothing(value, (at < 0) & (matches.match >= 0))
    failures = [(name, Failure(int(index[f.event]), f.reason)) for name, f in made.failures]
    return value, failures
