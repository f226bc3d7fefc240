"""Tagger: the relation that a stream modifies under a key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Columns
from millstream.algebra.identity import identity_of_values
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import factorize
from millstream.columns.versions import DELETE, INSERT, UPDATE, follow_keys
from millstream.operators.failures import FAILED, NO_OP, NOT_THERE, refused_rows
from millstream.operators.table_scan import kinds_of
from millstream.state.by_key import RowByKey
from millstream.state.chunks import State
from millstream.state.ordered_run import in_order_of_arrival


@dataclass(frozen=True, eq=False)
class Tagger(Node):
    """The latest row of every key of a stream: the first one enters, each later one replaces it.

    With `op`, that column says what an element does: one that deletes removes the row of its key,
    any other puts a row. The column itself is not handed on.
    Law: at τ there is, for every key, the last element up to τ, by time, then arrival, unless that
    deletes; elements of one instant are seen together, and one that leaves the row of its key as it
    was changes nothing. Deletions of what is not there do nothing; where they are `checked`, the
    error stream tells of them.
    State: the row of every key. Cost: the batch, and the keys it touches.
    """

    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("rows", "the row of every key", Structure.HASH, Extent.OWN),
    )
    reach: ClassVar[None] = None  # type: ignore[assignment]

    keys: tuple[str, ...]
    op: str | None
    checked: bool
    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([field for field in self.input_schema if field.name != self.op])

    @property
    def key(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.keys

    @property
    def required_distribution(self) -> Distribution:
        return self.keys

    @property
    def words(self) -> str:
        listed = ", ".join(map(name_text, self.keys))
        does = "" if self.op is None else f" by {name_text(self.op)}"
        return f"{listed}{does}{' checked' if self.checked else ''}"

    def lives(self, stream: Lifetime) -> Lifetime:
        reason = "a later element of its key replaces or removes a row"
        return left_open(Label(Pattern.STR, reason), bounded=True)

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...] | None:
        """Elements without an arrival of their own come in the order of all their values."""
        if not self.input.has_arrival or self.checked:
            return None
        return (wanted | frozenset(self.keys) | ({self.op} if self.op else frozenset()),)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if len(changes) == 0:
            return state, Changes.empty(self.schema)
        changes = in_order_of_arrival(changes)
        kinds = self._kinds(changes)
        understood = kinds >= 0
        unknown, changes = changes.keep(~understood), changes.keep(understood)
        rows = self._rows_of(changes.rows)
        modified = replace(changes.with_rows(rows), exp=forever(len(changes)))
        kept = RowByKey(state.get("rows"), self._kept_schema, len(self.keys))
        known = self._shown(kept.touched(rows.select(list(self.keys)), span.start))
        run = _Run.of(self.keys, known, rows, modified.ts, kinds[understood])
        gone = self._kept(take_rows(known, run.left))
        after = self._kept(take_rows(run.rows, run.present))
        parts = {"rows": kept.after(gone, after, len(run.left) + len(run.entered))}
        if self.checked and len(run.lost) + len(unknown):
            parts[FAILED] = _refused(changes.take(run.lost), unknown)
        return parts, run.emitted(modified)

    def _rows_of(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        columns = [rows.column(name) for name in self.schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _kinds(self, changes: Changes) -> np.ndarray:
        if self.op is None:
            return np.full(len(changes), UPDATE)
        return kinds_of(changes.rows.column(self.op))

    @cached_property
    def _kept_schema(self) -> pa.Schema:
        """The columns of the output, those of the key first."""
        others = [name for name in self.schema.names if name not in self.keys]
        return pa.schema([self.schema.field(name) for name in (*self.keys, *others)])

    def _kept(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows.select(self._kept_schema.names)

    def _shown(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows.select(self.schema.names)


def _refused(lost: Changes, unknown: Changes) -> pa.RecordBatch:
    """What the error stream is told: deletes of what is not there, and what does nothing known."""
    both = Changes.concat([lost, unknown], lost.schema)
    reasons = [NOT_THERE] * len(lost) + [NO_OP] * len(unknown)
    return refused_rows(both.rows, both.arrival, reasons)


@dataclass(frozen=True, eq=False)
class _Run:
    """Rows that are there, then elements in the order of arrival, followed under their keys.

    `groups` are the keys of all rows, `ends` says when each leaves. `left` are the rows that were
    there and leave, `entered` the elements that come in, `present` the rows that are there
    afterwards, `lost` the elements that delete what is not there.
    """

    rows: pa.RecordBatch
    groups: np.ndarray
    ends: np.ndarray
    left: np.ndarray
    entered: np.ndarray
    present: np.ndarray
    lost: np.ndarray

    @staticmethod
    def of(
        keys: tuple[str, ...],
        known: pa.RecordBatch,
        fresh: pa.RecordBatch,
        instants: np.ndarray,
        kinds: np.ndarray,
    ) -> _Run:
        rows, count = concat_rows([known, fresh], fresh.schema), known.num_rows
        size = rows.num_rows
        values, _ = factorize(rows.columns, size)
        groups, first = factorize([rows.column(name) for name in keys], size)
        ts = np.concatenate([np.zeros(count, np.int64), instants])
        kinds = np.concatenate([np.full(count, INSERT), kinds])
        order = count + np.argsort(groups[count:], kind="stable")
        newest = np.full(len(first), -1)
        newest[groups[:count]] = np.arange(count)
        before = newest.copy()
        entered, ends = np.zeros(size, np.bool_), forever(size)
        follow_keys(order, groups, ts, kinds, values, newest, entered, ends)
        lost = _lost(order, groups[order], kinds, before) - count
        left = np.flatnonzero(ends[:count] < INFINITY)
        came = np.flatnonzero(entered[count:])
        return _Run(rows, groups, ends, left, came, newest[newest >= 0], lost)

    def emitted(self, modified: Changes) -> Changes:
        """The rows that leave and that come in, in the order of time, each with the row of its key
        before it."""
        left, known = self.left, self.rows.num_rows - len(modified)
        none, came = np.zeros(len(left), np.int64), known + self.entered
        back = Changes(
            take_rows(self.rows, left), self.ends[left], forever(len(left)), none - 1, none
        )
        entering = replace(modified.take(self.entered), exp=self.ends[came])
        out = Changes.concat([back, entering], modified.schema)
        order = np.argsort(out.ts, kind="stable")
        place = np.full(len(order) + 1, -1)
        place[order] = np.arange(len(order))
        previous = place[self._previous(np.concatenate([left, came]))[order]]
        out = out.take(order)
        return replace(out, seq=identity_of_values(out.rows, len(out)), previous=previous)

    def _previous(self, rows: np.ndarray) -> np.ndarray:
        """The row before each of these with the same key; they are in the order of arrival."""
        groups = self.groups[rows]
        order = np.argsort(groups, kind="stable")
        follows = groups[order][1:] == groups[order][:-1]
        previous = np.full(len(rows), -1)
        previous[order[1:][follows]] = order[:-1][follows]
        return previous


def _lost(
    order: np.ndarray, groups: np.ndarray, kinds: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """The elements that delete where the one before them has left nothing."""
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = groups[1:] != groups[:-1]
    empty = np.empty(len(order), np.bool_)
    empty[1:] = kinds[order[:-1]] == DELETE
    empty[is_first] = before[groups[is_first]] < 0
    return np.sort(order[(kinds[order] == DELETE) & empty])
