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

OPS = pa.array(["+", "u", "-"])
ENTER, UPDATE, LEAVE = 0, 1, 2


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
        if changes.groups is not None and self.key is not None and not state:
            return state, self._from_neighbours(changes)
        due, events = unfold(state.get("due", Log()), changes, span)
        every = events.merged()
        out = self._without_key(every) if self.key is None else self._with_key(every)
        return ({"due": due} if due.chunks else {}), out

    def _from_neighbours(self, changes: Changes) -> Changes:
        """Rows of a key lie together in time order: each is compared with the one before it."""
        group, ts, exp, weight = changes.groups, changes.ts, changes.exp, changes.weight
        assert group is not None
        if len(changes) == 0:
            return Changes.empty(self.schema)
        same = np.zeros(len(changes), np.bool_)
        same[1:] = group[1:] == group[:-1]
        until = np.where(weight < 0, ts, exp)
        meets = np.zeros(len(changes), np.bool_)
        meets[1:] = same[1:] & (until[:-1] == ts[1:]) & (weight[1:] > 0)
        told = (weight > 0) & ~(meets & _equal_to_previous(changes.rows))
        followed = np.append(meets[1:], False)
        gone = ~followed & (until < INFINITY)
        enters, leaves = np.flatnonzero(told), np.flatnonzero(gone)
        source = np.concatenate([enters, leaves])
        ops = np.concatenate(
            [np.where(meets[enters], UPDATE, ENTER), np.full(len(leaves), LEAVE)]
        )
        instants = np.concatenate([ts[enters], until[leaves]])
        return self._tell(changes.rows, source, ops, instants, changes.seq[source])

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
        return self._tell(rows.rows, source, ops[source], rows.ts[source], rows.seq[source])

    def _without_key(self, every: Changes) -> Changes:
        _, sums, first = net(every, every.schema.names)
        source = np.repeat(first, np.abs(sums))
        ops = np.repeat(np.where(sums > 0, ENTER, LEAVE), np.abs(sums))
        return self._tell(every.rows, source, ops, every.ts[source], every.seq[source])

    def _tell(
        self, rows: pa.RecordBatch, source: np.ndarray, ops: np.ndarray, instants: np.ndarray,
        seq: np.ndarray,
    ) -> Changes:
        taken = take_rows(rows, source)
        columns = list(taken.columns)
        if self.key is not None and (ops == LEAVE).any():
            leaving = pa.array(ops == LEAVE)
            for i, field in enumerate(taken.schema):
                if field.name not in self.key:
                    columns[i] = pc.if_else(leaving, pa.scalar(None, field.type), columns[i])
        told = pa.RecordBatch.from_arrays(
            [OPS.take(pa.array(ops)), *columns], schema=self.schema
        )
        return Changes.elements(told, instants, seq)


def _equal_to_previous(rows: pa.RecordBatch) -> np.ndarray:
    """Where a row has the same values as the one before it, NULL equal to NULL."""
    same = np.ones(rows.num_rows, np.bool_)
    if rows.num_rows:
        same[0] = False
    for column in rows.columns:
        here, before = column[1:], column[:-1]
        equal = pc.equal(here, before)
        if column.null_count:
            both = pc.and_(pc.is_null(here), pc.is_null(before))
            equal = pc.or_(pc.fill_null(equal, False), both)
        elif pa.types.is_floating(column.type):
            equal = pc.or_(equal, pc.and_(pc.is_nan(here), pc.is_nan(before)))
        same[1:] &= equal.to_numpy(zero_copy_only=False)
    return same
