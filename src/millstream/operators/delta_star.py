"""DeltaStar: duplicate elimination for rows whose ends are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, take_rows
from millstream.algebra.node import Node, Spread, Step
from millstream.algebra.pattern import Label, weak
from millstream.algebra.state import Log, State
from millstream.algebra.time import DAWN, Span
from millstream.columns.hashed import hash_order
from millstream.columns.keys import equal_rows, factorize, hashes_of
from millstream.columns.order import stable_order
from millstream.columns.stretches import tell_stretches
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
    def label(self) -> Label:
        return weak((self.input.pattern,), "a value leaves with the last of its copies")

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        order = stable_order(changes.ts)
        changes = changes if order is None else changes.take(order)
        promised: Log = state.get("promised", Log())
        due = [part.within(part.exp, span) for part in promised.touching(span.start, span.end)]
        every = Changes.concat([*due, changes], self.schema)
        codes, values, hashes = _values(every)
        known = Latest.of(state.get("known"), self.schema)
        told, until = self._found(known, values, hashes)
        before, reached = told.copy(), until.copy()
        fresh = len(every) - len(changes)
        code, start, stop = tell_stretches(
            codes[fresh:], changes.ts, changes.exp, told, until, span.end
        )
        moved = np.flatnonzero((told != before) | (until != reached))
        entries = _entries(values, moved, told, until)
        promises = _entries(values, np.flatnonzero(told != before), told, told).sorted_by_exp()
        kept = promised.after(span.end).append(promises, promises.exp)
        rows = take_rows(values, code)
        out = Changes(
            rows, start, stop, np.ones(len(code), np.int64), identity_of_values(rows, len(code))
        )
        return {
            "known": known.add(entries, hashes[moved], span.end).log,
            "promised": kept,
        }, out

    def _found(
        self, known: Latest, values: pa.RecordBatch, hashes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Until when every value was told to be present, and is known to be."""
        told = np.full(len(hashes), DAWN)
        until = np.full(len(hashes), DAWN)
        for rows, there, needle in known.search(hashes):
            same = equal_rows(rows.rows, there, values, needle)
            there, needle = there[same], needle[same]
            until[needle] = rows.exp[there]  # the newest comes last
            told[needle] = rows.ts[there]
        return told, until


def _values(every: Changes) -> tuple[np.ndarray, pa.RecordBatch, np.ndarray]:
    """The number of every row's value, the values in the order of their hashes, and these."""
    codes, first = factorize(every.rows.columns, len(every))
    hashes = hashes_of(take_rows(every.rows, first).columns, len(first))
    order = hash_order(hashes)
    if order is None:
        return codes, take_rows(every.rows, first), hashes
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[codes], take_rows(every.rows, first[order]), hashes[order]


def _entries(
    values: pa.RecordBatch, index: np.ndarray, told: np.ndarray, until: np.ndarray
) -> Changes:
    """What is known of values, as rows: told until `ts`, present until `exp`."""
    ones, none = np.ones(len(index), np.int64), np.zeros(len(index), np.int64)
    return Changes(take_rows(values, index), told[index], until[index], ones, none)
