"""DeltaStar: duplicate elimination for rows whose ends are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, forever, take_rows
from millstream.algebra.node import Node, Spread, Step
from millstream.algebra.pattern import Label, weak
from millstream.algebra.state import Log, State
from millstream.algebra.time import DAWN, INFINITY, Span
from millstream.columns.keys import equal_rows, factorize, hashes_of
from millstream.columns.order import stable_order
from millstream.columns.stretches import tell_stretches
from millstream.operators.counted import counts_of
from millstream.operators.distinct import Distinct
from millstream.operators.identity import identity_of_values
from millstream.operators.keyed import Latest


@dataclass(frozen=True, eq=False)
class DeltaStar(Node):
    """Distinct over an input that never takes rows back: one copy of every row that is present.

    Law: as Distinct. A stretch is told with its end; what prolongs it is told when that end comes.
    State: for every value present, how long it is known to be, and how long it was told to be: the
    input is not kept. Cost: the batch and the values that fall due.
    """

    is_clean: ClassVar[bool] = False  # type: ignore[assignment]

    input: Node

    @cached_property
    def key(self) -> tuple[str, ...]:
        return tuple(self.schema.names) if self.input.key is None else self.input.key

    @property
    def needs(self) -> Spread:
        return tuple(self.schema.names)

    @property
    def meaning(self) -> str:  # type: ignore[override]
        return Distinct(self.input).meaning

    @property
    def label(self) -> Label:
        return weak((self.input.pattern,), "a value leaves with the last of its copies")

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if "counts 0" not in state:
            return self._told(state, changes, span)
        state, restated = self._from_distinct(state, span)
        state, out = self._told(state, changes, span)
        return state, Changes.concat([restated, out], self.schema)

    def _told(self, state: State, changes: Changes, span: Span) -> Step:
        order = stable_order(changes.ts)
        changes = changes if order is None else changes.take(order)
        buffer, promised = self.manner.buffer, state.get("promised", Log())
        due = buffer.due(promised, span)
        every = Changes.concat([*due, changes], self.schema)
        codes, first = factorize(every.rows.columns, len(every))
        values = take_rows(every.rows, first)
        hashes = hashes_of(values.columns, len(first))
        known = Latest.of(state.get("known"), self.schema)
        told, until = self._found(known, values, hashes)
        before, reached = told.copy(), until.copy()
        fresh = len(every) - len(changes)
        code, start, stop = tell_stretches(
            codes[fresh:], changes.ts, changes.exp, told, until, span.end
        )
        moved = np.flatnonzero((told != before) | (until != reached))
        entries = _entries(values, moved, told, until)
        promises = _entries(values, np.flatnonzero(told != before), told, told)
        kept = buffer.add(promised, promises, span.end)
        rows = take_rows(values, code)
        out = Changes(
            rows, start, stop, np.ones(len(code), np.int64), identity_of_values(rows, len(code))
        )
        return {
            "known": known.add(entries, hashes[moved], span.end).log,
            "promised": kept,
        }, out

    def _from_distinct(self, state: State, span: Span) -> Step:
        """State that Distinct left: every value until the end of its last copy. What it told openly
        is told with that end from now on, so that the two sums are the same."""
        values = counts_of(state["counts 0"], self.schema)
        count = len(values)
        rows = Changes.concat(state["due 0"].all(), self.schema)
        rows = rows.keep(rows.exp > span.start)
        both = Changes.concat([values, rows], self.schema)
        codes, _ = factorize(both.rows.columns, len(both))
        until, copies = np.full(count, DAWN), np.zeros(count, np.int64)
        np.maximum.at(until, codes[count:], rows.exp)
        np.add.at(copies, codes[count:], rows.weight)
        until[copies < values.weight] = INFINITY
        known = _entries(values.rows, np.arange(count), until, until)
        ending = np.flatnonzero(until != INFINITY)
        rest, ends = take_rows(values.rows, ending), until[ending]
        now, ones = np.full(len(ends), span.start + 1), np.ones(len(ends), np.int64)
        seq = identity_of_values(rest, len(ends))
        restated = [
            Changes(rest, now, forever(len(ends)), -ones, seq),
            Changes(rest, now, ends, ones, seq).keep(ends > span.start + 1),
        ]
        promises = _entries(values.rows, ending, until, until)
        return {
            "known": Latest.of(None, self.schema)
            .add(known, hashes_of(values.rows.columns, count), span.start)
            .log,
            "promised": self.manner.buffer.add(Log(), promises, span.start),
        }, Changes.concat(restated, self.schema)

    def _found(
        self, known: Latest, values: pa.RecordBatch, hashes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Until when every value was told to be present, and is known to be."""
        told = np.full(len(hashes), DAWN)
        until = np.full(len(hashes), DAWN)
        for rows, there, needle in known.search(hashes):
            same = equal_rows(rows.rows, there, values, needle)
            there, needle = there[same], needle[same]
            np.maximum.at(until, needle, rows.exp[there])
            np.maximum.at(told, needle, rows.ts[there])
        return told, until


def _entries(
    values: pa.RecordBatch, index: np.ndarray, told: np.ndarray, until: np.ndarray
) -> Changes:
    """What is known of values, as rows: told until `ts`, present until `exp`."""
    ones, none = np.ones(len(index), np.int64), np.zeros(len(index), np.int64)
    return Changes(take_rows(values, index), told[index], until[index], ones, none)
