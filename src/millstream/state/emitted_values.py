"""Values with the ends they are known to have and were emitted with: what DeltaStar keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, take_rows
from millstream.algebra.identity import identity_of_values
from millstream.algebra.state_layout import Buffer
from millstream.algebra.time import DAWN, Span
from millstream.columns.hashed import hash_order
from millstream.columns.keys import equal_rows, factorize, hashes_of
from millstream.state.chunks import Log, State
from millstream.state.index import Latest
from millstream.state.waiting import add_waiting, due_in

MANY = 32_768
"""Up to so many values are looked through and written whole in every step."""


@dataclass(frozen=True, eq=False)
class Values:
    """Values with the end they were emitted with, and the end they are known to have."""

    rows: pa.RecordBatch
    emitted: np.ndarray
    until: np.ndarray

    def __len__(self) -> int:
        return len(self.emitted)

    def take(self, index: np.ndarray) -> Values:
        return Values(take_rows(self.rows, index), self.emitted[index], self.until[index])

    def and_new(self, rows: pa.RecordBatch, index: np.ndarray) -> Values:
        """These, and others of which nothing is known yet."""
        if len(index) == 0:
            return self
        fresh = np.full(len(index), DAWN)
        return Values(
            concat_rows([self.rows, take_rows(rows, index)], rows.schema),
            np.concatenate([self.emitted, fresh]),
            np.concatenate([self.until, fresh]),
        )

    def after(self, instant: int) -> Values:
        """Those that are still present."""
        alive = self.until > instant
        return self if alive.all() else self.take(np.flatnonzero(alive))

    @staticmethod
    def of(state: State, schema: pa.Schema) -> Values:
        """All values of a state."""
        if "known" in state:
            newest = Latest.of(state["known"], schema).rows()
            return Values(newest.rows, newest.ts, newest.exp)
        table = Changes.concat(state.get("values", Log()).all(), schema)
        return Values(table.rows, table.ts, table.exp)

    def snapshot(self, instant: int) -> Changes:
        """Those present at an instant, as they were emitted."""
        there = self.after(instant)
        count, ones = len(there), np.ones(len(there), np.int64)
        seq = identity_of_values(there.rows, count)
        return Changes(there.rows, np.full(count, instant), there.emitted, ones, seq)

    def to_state(self, span_end: int, buffer: Buffer) -> State:
        """A table of a few values; an index of many, and a calendar of the ends emitted."""
        schema = self.rows.schema
        if len(self) <= MANY:
            return {"values": Log().append(_entries(self, self.until), self.until)}
        known = Latest.of(None, schema)
        hashes = hashes_of(self.rows.columns, len(self))
        return {
            "known": known.add(_entries(self, self.until), hashes, span_end).log,
            "promised": add_waiting(buffer, Log(), _entries(self, self.emitted), span_end),
        }


@dataclass(frozen=True, eq=False)
class Recalled:
    """What is known of the values that a step may change; `codes` is the value of every row."""

    values: Values
    codes: np.ndarray


def recall(state: State, changes: Changes, span: Span, buffer: Buffer) -> Recalled:
    """The values of the changes and those whose emitted end lies in the span, with what is known of
    them; all values, where they are few."""
    schema = changes.schema
    if "known" not in state:
        kept = Values.of(state, schema)
        both = concat_rows([kept.rows, changes.rows], schema)
        codes, first = factorize(both.columns, len(kept) + len(changes))
        return Recalled(kept.and_new(both, first[len(kept) :]), codes[len(kept) :])
    due = Changes.concat(due_in(buffer, state["promised"], span), schema)
    both = concat_rows([due.rows, changes.rows], schema)
    codes, rows, hashes = _by_hash(both, len(due) + len(changes))
    emitted, until = np.full(len(hashes), DAWN), np.full(len(hashes), DAWN)
    for found, there, needle in Latest.of(state["known"], schema).search(hashes):
        same = equal_rows(found.rows, there, rows, needle)
        until[needle[same]] = found.exp[there[same]]  # the newest comes last
        emitted[needle[same]] = found.ts[there[same]]
    return Recalled(Values(rows, emitted, until), codes[len(due) :])


def _by_hash(rows: pa.RecordBatch, length: int) -> tuple[np.ndarray, pa.RecordBatch, np.ndarray]:
    """The number of every row's value, the values in the order of their hashes, and these."""
    codes, first = factorize(rows.columns, length)
    hashes = hashes_of(take_rows(rows, first).columns, len(first))
    order = hash_order(hashes)
    if order is None:
        return codes, take_rows(rows, first), hashes
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[codes], take_rows(rows, first[order]), hashes[order]


def remember(state: State, before: Values, after: Values, end: int, buffer: Buffer) -> State:
    """The state when what was recalled has changed."""
    if "known" not in state:
        return after.after(end).to_state(end, buffer)
    moved = after.take(
        np.flatnonzero((after.emitted != before.emitted) | (after.until != before.until))
    )
    extended = after.take(np.flatnonzero(after.emitted != before.emitted))
    known = Latest.of(state["known"], after.rows.schema)
    hashes = hashes_of(moved.rows.columns, len(moved))
    grown = {
        "known": known.add(_entries(moved, moved.until), hashes, end).log,
        "promised": add_waiting(
            buffer, state["promised"], _entries(extended, extended.emitted), end
        ),
    }
    if grown["known"].rows > MANY // 4:
        return grown
    return Values.of(grown, after.rows.schema).after(end).to_state(end, buffer)


def _entries(values: Values, exp: np.ndarray) -> Changes:
    """Values as rows of a log that wait for an instant; `ts` is the end they were emitted with."""
    ones, none = np.ones(len(values), np.int64), np.zeros(len(values), np.int64)
    return Changes(values.rows, values.emitted, exp, ones, none)
