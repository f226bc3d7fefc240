"""Tagged: the changes of a relation as a stream of +, u and −."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import Changes, take_rows
from millstream.algebra.node import Node, Spread, Step
from millstream.algebra.state import Log, State
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import factorize
from millstream.operators.events import net, unfold

ENTER, UPDATE, LEAVE = 0, 1, 2
LETTERS = np.frombuffer(b"+u-", np.uint8)


@dataclass(frozen=True, eq=False)
class Tagged(Node):
    """`SELECT STREAMED`: for every instant and changed row `+`, `u` or `-`.

    Law: replaying the changes up to τ gives R(τ); a change that changed nothing is not told.
    With a key, a row that is replaced by one of the same key is told as `u` with the new row, and
    one that leaves as `-` with the key alone. Without, rows enter and leave whole.
    State: the rows whose expiration lies ahead.
    """

    is_stream: ClassVar[bool] = True
    monotonic: ClassVar[bool] = True  # type: ignore[assignment]

    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field("op", pa.string()), *self.input_schema])

    @property
    def key(self) -> tuple[str, ...] | None:
        return self.input.key

    @property
    def needs(self) -> Spread:
        return tuple(self.input_schema.names) if self.key is None else self.key

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if changes.previous is not None and self.key is not None and not state:
            return state, self._from_previous(changes)
        due, events = unfold(state.get("due", Log()), changes, span)
        every = events.merged()
        out = self._without_key(every) if self.key is None else self._with_key(every)
        return ({"due": due} if due.chunks else {}), out

    def _from_previous(self, changes: Changes) -> Changes:
        """Every row is compared with the one of its key before it, which ends where it begins."""
        previous, ts, weight = changes.previous, changes.ts, changes.weight
        assert previous is not None
        if len(changes) == 0:
            return Changes.empty(self.schema)
        until = np.where(weight < 0, ts, changes.exp)
        meets = (previous >= 0) & (weight > 0)
        meets[meets] = until[previous[meets]] == ts[meets]
        enters = weight > 0
        enters &= ~(meets & _equal_to_previous(changes.rows, previous))
        followed = np.zeros(len(changes), np.bool_)
        followed[previous[meets]] = True
        leaves = ~followed & (until < INFINITY)
        if not leaves.any():
            ops = np.where(meets, UPDATE, ENTER)
            source = None if enters.all() else np.flatnonzero(enters)
            return self._tell(changes.rows, source, ops, ts, changes.seq)
        entering, leaving = np.flatnonzero(enters), np.flatnonzero(leaves)
        ops = np.concatenate(
            [np.where(meets[entering], UPDATE, ENTER), np.full(len(leaving), LEAVE)]
        )
        source = np.concatenate([entering, leaving])
        instants = np.concatenate([ts[entering], until[leaving]])
        order = np.argsort(instants, kind="stable")
        return self._tell_taken(changes.rows, source[order], ops[order], instants[order],
                                changes.seq[source[order]])

    def _with_key(self, every: Changes) -> Changes:
        assert self.key is not None
        _, sums, first = net(every, every.schema.names)
        moved = np.flatnonzero(sums)
        rows, sums = every.take(first[moved]), sums[moved]
        keys = [rows.rows.column(name) for name in self.key]
        codes, _ = factorize([*keys, pa.array(rows.ts)], len(rows))
        has_old = np.zeros(len(rows) + 1, np.bool_)
        has_new = np.zeros(len(rows) + 1, np.bool_)
        has_old[codes[sums < 0]] = True
        has_new[codes[sums > 0]] = True
        ops = np.where(sums > 0, np.where(has_old[codes], UPDATE, ENTER), LEAVE)
        source = np.flatnonzero((sums > 0) | ~has_new[codes])
        return self._tell_taken(
            rows.rows, source, ops[source], rows.ts[source], rows.seq[source]
        )

    def _without_key(self, every: Changes) -> Changes:
        _, sums, first = net(every, every.schema.names)
        source = np.repeat(first, np.abs(sums))
        ops = np.repeat(np.where(sums > 0, ENTER, LEAVE), np.abs(sums))
        return self._tell_taken(every.rows, source, ops, every.ts[source], every.seq[source])

    def _tell(
        self, rows: pa.RecordBatch, source: np.ndarray | None, ops: np.ndarray,
        instants: np.ndarray, seq: np.ndarray,
    ) -> Changes:
        """All rows, or those of an index into rows and all the rest."""
        if source is None:
            return self._tell_rows(rows, ops, instants, seq)
        return self._tell_taken(rows, source, ops[source], instants[source], seq[source])

    def _tell_taken(
        self, rows: pa.RecordBatch, source: np.ndarray, ops: np.ndarray, instants: np.ndarray,
        seq: np.ndarray,
    ) -> Changes:
        return self._tell_rows(take_rows(rows, source), ops, instants, seq)

    def _tell_rows(
        self, rows: pa.RecordBatch, ops: np.ndarray, instants: np.ndarray, seq: np.ndarray
    ) -> Changes:
        columns = list(rows.columns)
        if self.key is not None and (ops == LEAVE).any():
            leaving = pa.array(ops == LEAVE)
            for i, field in enumerate(rows.schema):
                if field.name not in self.key:
                    columns[i] = pc.if_else(leaving, pa.scalar(None, field.type), columns[i])
        told = pa.RecordBatch.from_arrays([letters(ops), *columns], schema=self.schema)
        return Changes.elements(told, instants, seq)


def letters(ops: np.ndarray) -> pa.Array:
    """The ops as one-letter strings."""
    codes = LETTERS[ops]
    offsets = np.arange(len(ops) + 1, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(ops), [None, pa.py_buffer(offsets), pa.py_buffer(codes)]
    )


def _equal_to_previous(rows: pa.RecordBatch, previous: np.ndarray) -> np.ndarray:
    """Where a row has the same values as the one before it of its key, NULL equal to NULL."""
    same = previous >= 0
    for column in rows.columns:
        index = np.flatnonzero(same)
        if len(index) == 0:
            break
        here, before = column, column.take(pa.array(np.maximum(previous, 0)))
        equal = pc.equal(here, before)
        if column.null_count:
            both = pc.and_(pc.is_null(here), pc.is_null(before))
            equal = pc.or_(pc.fill_null(equal, False), both)
        elif pa.types.is_floating(column.type):
            equal = pc.or_(equal, pc.and_(pc.is_nan(here), pc.is_nan(before)))
        same &= equal.to_numpy(zero_copy_only=False)
    return same
