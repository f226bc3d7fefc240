"""Dated: the rows of a relation with the instants since which they are there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever, take_rows
from millstream.algebra.identity import identity_of_values
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import Span
from millstream.columns.keys import factorize
from millstream.columns.native import native
from millstream.operators.stamp import INSTANT
from millstream.state.by_key import BagByKey
from millstream.state.chunks import Log, State
from millstream.state.events import net, unfold_all

COUNT = "#count"


@dataclass(frozen=True, eq=False)
class Dated(Node):
    """Each row of a relation with the instant since which it is there, as one more column.

    Law: a row is dated with the instant of the modification that put it, or of the last one that
    gave its key these values. Of equal rows, the one that came first leaves first. A row that
    leaves and comes again at one instant has not left.
    State: the rows present with their instants, and the rows whose expiration lies ahead.
    Cost: the batch and what falls due.
    """

    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("present", "rows with their instants", Structure.HASH, Extent.OWN),
        ending(),
    )

    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.input_schema, pa.field(INSTANT, pa.int64())])

    @property
    def required_distribution(self) -> Distribution:
        return tuple(self.input_schema.names) if self.input.key is None else self.input.key

    def lives(self, given: Lifetime) -> Lifetime:
        label = Label(Pattern.STR, "a row leaves when a modification takes it away")
        if given.monotonic:
            label = Label(Pattern.MON, "rows that have come in never leave")
        return left_open(label, bounded=given.bounded, transient=given.transient)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        due, events = unfold_all(state.get("due", Log()), changes, span, self.state_layout)
        parts = {"due": due} if due.chunks else {}
        every = events.merged()
        _, sums, first = net(every, every.schema.names)
        moved = np.flatnonzero(sums)
        if len(moved) == 0:
            kept = {"present": state["present"]} if "present" in state else {}
            return {**parts, **kept}, Changes.empty(self.schema)
        rows, sums = every.take(first[moved]), sums[moved]
        bag = BagByKey(state.get("present"), self._kept_schema, len(self.input_schema))
        before = bag.touched(rows.rows)
        queue = _Queue.of(before, rows, sums)
        now = queue.present(self._kept_schema)
        parts["present"] = bag.after(before, now, len(rows), False)
        return parts, queue.emitted(self.schema).in_time_order()

    @cached_property
    def _kept_schema(self) -> pa.Schema:
        return pa.schema([*self.schema, pa.field(COUNT, pa.int64())])


@dataclass(frozen=True, eq=False)
class _Queue:
    """Copies of rows with the instants at which they came, and those that leave, oldest first.

    The first rows are those that were there; `counts` says how many of each leave (below zero) or
    come. Piece by piece, `copies[i]` of the row `source[i]` leave at `leaves[i]`.
    """

    rows: pa.RecordBatch
    instants: np.ndarray
    counts: np.ndarray
    left: np.ndarray
    known: int
    source: np.ndarray
    leaves: np.ndarray
    copies: np.ndarray

    @staticmethod
    def of(before: pa.RecordBatch, moved: Changes, sums: np.ndarray) -> _Queue:
        width = before.num_columns - 2
        names = moved.rows.schema
        there = pa.RecordBatch.from_arrays(before.columns[:width], schema=names)
        rows = concat_rows([there, moved.rows], names)
        instants = np.concatenate([before.column(width).to_numpy(), moved.ts])
        counts = np.concatenate([before.column(width + 1).to_numpy(), sums])
        codes, _ = factorize(rows.columns, len(instants))
        order = np.lexsort((instants, codes))
        source, leaves, copies, left = _oldest_first(order, codes, instants, counts)
        return _Queue(rows, instants, counts, left, before.num_rows, source, leaves, copies)

    def present(self, schema: pa.Schema) -> pa.RecordBatch:
        """The rows that are left, with their instants and counts."""
        index = np.flatnonzero(self.left > 0)
        columns = [
            *take_rows(self.rows, index).columns,
            pa.array(self.instants[index]),
            pa.array(self.left[index]),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def emitted(self, schema: pa.Schema) -> Changes:
        came = np.flatnonzero(self.counts > 0)
        came = came[came >= self.known]
        index = np.concatenate([came, self.source])
        weight = np.concatenate([self.counts[came], -self.copies])
        ts = np.concatenate([self.instants[came], self.leaves])
        columns = [*take_rows(self.rows, index).columns, pa.array(self.instants[index])]
        rows = pa.RecordBatch.from_arrays(columns, schema=schema)
        return Changes(rows, ts, forever(len(ts)), weight, identity_of_values(rows, len(ts)))


@native
def _oldest_first(order, codes, instants, counts):  # type: ignore[no-untyped-def]
    """For copies that leave, which of those that came they are: rows in the order of their values,
    then of time. Gives pieces of equal copies, and how many are left of every row that came."""
    n = len(order)
    left = np.maximum(counts, 0)
    source = np.empty(2 * n, np.int64)
    leaves = np.empty(2 * n, np.int64)
    copies = np.empty(2 * n, np.int64)
    pieces = 0
    head = 0
    for k in range(n):
        i = order[k]
        if k == 0 or codes[order[k - 1]] != codes[i]:
            head = k
        wanted = -counts[i]
        while wanted > 0 and head < k:
            s = order[head]
            taken = min(wanted, left[s])
            if taken > 0:
                source[pieces] = s
                leaves[pieces] = instants[i]
                copies[pieces] = taken
                pieces += 1
                left[s] -= taken
                wanted -= taken
            if wanted > 0:
                head += 1
    return source[:pieces], leaves[:pieces], copies[:pieces], left
