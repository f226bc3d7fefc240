"""Copies: the bag of rows that a stream of insertions and deletions makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.identity import identity_of_values
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.columns.keys import factorize
from millstream.columns.native import native
from millstream.columns.versions import DELETE, UPDATE
from millstream.operators.failures import FAILED, NO_KEY, NO_OP, NOT_THERE, refused_rows
from millstream.operators.table_scan import kinds_of
from millstream.state.by_key import BagByKey
from millstream.state.chunks import State
from millstream.state.events import net
from millstream.state.ordered_run import in_order_of_arrival

COUNT = "#count"


@dataclass(frozen=True, eq=False)
class Copies(Node):
    """The rows of a stream whose column `op` says whether each is inserted or deleted, without key.

    Law: an element that inserts adds a copy of its row; one that deletes removes a copy, if one is
    there, by time, then arrival; elements of one instant are seen together. Updates do nothing,
    since they do not say which row they are about. The error stream tells of what does nothing.
    State: the rows with the number of their copies. Cost: the batch, and the rows it is about.
    """

    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("rows", "rows with the number of their copies", Structure.HASH, Extent.OWN),
    )
    key: ClassVar[None] = None  # type: ignore[assignment]
    reach: ClassVar[None] = None  # type: ignore[assignment]

    op: str
    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([field for field in self.input_schema if field.name != self.op])

    @property
    def required_distribution(self) -> Distribution:
        return tuple(self.schema.names)

    @property
    def words(self) -> str:
        return f"by {name_text(self.op)}"

    def lives(self, stream: Lifetime) -> Lifetime:
        return left_open(Label(Pattern.STR, "an element deletes a row at any time"), bounded=False)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if len(changes) == 0:
            return state, Changes.empty(self.schema)
        changes = in_order_of_arrival(changes)
        kinds = kinds_of(changes.rows.column(self.op))
        columns = [changes.rows.column(name) for name in self.schema.names]
        bare = changes.with_rows(pa.RecordBatch.from_arrays(columns, schema=self.schema))
        bag = BagByKey(state.get("rows"), self._kept_schema, len(self.schema))
        before = bag.touched(bare.rows)
        rows = concat_rows([before.select(self.schema.names), bare.rows], self.schema)
        codes, first = factorize(rows.columns, rows.num_rows)
        known, counts = before.num_rows, np.zeros(len(first), np.int64)
        np.add.at(counts, codes[:known], before.column(before.num_columns - 1).to_numpy())
        moves = _follow(codes[known:], kinds, counts)
        out = self._emitted(bare, moves)
        now = self._present(rows, first, counts)
        parts = {"rows": bag.after(before, now, len(out), False)}
        idle = np.flatnonzero(moves == 0)
        if len(idle):
            why = {UPDATE: NO_KEY, DELETE: NOT_THERE}
            reasons = [why.get(int(kind), NO_OP) for kind in kinds[idle]]
            parts[FAILED] = refused_rows(
                take_rows(changes.rows, idle), changes.arrival[idle], reasons
            )
        return parts, out

    def _emitted(self, bare: Changes, moves: np.ndarray) -> Changes:
        moved = replace(bare, weight=moves)
        _, sums, first = net(moved, self.schema.names)
        kept = np.flatnonzero(sums)
        out = bare.take(first[kept])
        seq = identity_of_values(out.rows, len(out))
        open_ended = replace(out, exp=forever(len(out)), weight=sums[kept], seq=seq)
        return open_ended.in_time_order()

    def _present(
        self, rows: pa.RecordBatch, first: np.ndarray, counts: np.ndarray
    ) -> pa.RecordBatch:
        there = np.flatnonzero(counts)
        columns = [*take_rows(rows, first[there]).columns, pa.array(counts[there])]
        return pa.RecordBatch.from_arrays(columns, schema=self._kept_schema)

    @cached_property
    def _kept_schema(self) -> pa.Schema:
        return pa.schema([*self.schema, pa.field(COUNT, pa.int64())])


@native
def _follow(codes, kinds, counts):  # type: ignore[no-untyped-def]
    """What each element does to the number of copies of its row, which `counts` follow."""
    moves = np.zeros(len(codes), np.int64)
    for i in range(len(codes)):
        if kinds[i] == UPDATE or kinds[i] < 0:
            continue
        if kinds[i] != DELETE:
            moves[i] = 1
        elif counts[codes[i]] > 0:
            moves[i] = -1
        counts[codes[i]] += moves[i]
    return moves
