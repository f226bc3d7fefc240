"""Tagged: the changes of a relation as a stream of +, u and −."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import Changes, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.state_parts import StatePart, ending
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import factorize, same_values
from millstream.columns.native import native
from millstream.state.chunks import Log, State
from millstream.state.events import net, unfold_all

ENTER, UPDATE, LEAVE, NOTHING = 0, 1, 2, 3
LETTERS = np.frombuffer(b"+u-", np.uint8)
RANKS = np.array([2, 1, 0])


@dataclass(frozen=True, eq=False)
class Tagged(Node):
    """`SELECT STREAMED`: for every instant and changed row `+`, `u` or `-`.

    Law: replaying the changes up to τ gives R(τ); a change that changes no column is not
    emitted. Inside one instant, rows that leave are emitted first, then updates, then rows that
    enter, each by values. With a key, a row that is replaced by one of the same key is emitted as
    `u` with the new row, and a row that leaves as `-` with the key alone. Without a key, rows enter
    and leave whole.
    State: the rows whose expiration lies ahead.
    """

    follows_content: ClassVar[bool] = True

    is_stream: ClassVar[bool] = True
    accepts_previous: ClassVar[bool] = True
    state_parts: ClassVar[tuple[StatePart, ...]] = (ending(),)

    by: tuple[str, ...] | None
    """The key of the query as it was written: keys that rewriting finds must not show."""
    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field("op", pa.string()), *self.input_schema])

    @property
    def key(self) -> tuple[str, ...] | None:  # type: ignore[override]
        return self.by

    @property
    def words(self) -> str:
        if self.by is None:
            return "whole rows"
        return f"by {', '.join(map(name_text, self.by))}" if self.by else "one row"

    def lives(self, given: Lifetime) -> Lifetime:
        return elements("what was emitted stays emitted")

    @property
    def required_distribution(self) -> Distribution:
        return tuple(self.input_schema.names) if self.key is None else self.key

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if not len(changes) and not state:
            return state, Changes.empty(self.schema)
        if changes.previous is not None and self.key is not None and not state:
            return state, self._from_previous(changes)
        due, events = unfold_all(state.get("due", Log()), changes.plain(), span, self.state_layout)
        every = events.merged()
        out = self._without_key(every) if self.key is None else self._with_key(every)
        return ({"due": due} if due.chunks else {}), out

    def _from_previous(self, changes: Changes) -> Changes:
        """Every row is compared with the one of its key before it, which ends where it begins."""
        assert changes.previous is not None and self.key is not None
        others = [i for i, f in enumerate(self.input_schema) if f.name not in self.key]
        same = equal_to_previous([changes.rows.column(i) for i in others], changes.previous)
        ops, gone, until = _compare(changes.previous, changes.ts, changes.exp, changes.weight, same)
        source = np.flatnonzero(ops != NOTHING)
        if len(source) and source[-1] - source[0] + 1 == len(source):
            first, last = int(source[0]), int(source[-1]) + 1
            rows = changes.rows.slice(first, last - first)
            there = self.emitted(rows, ops[first:last], changes.ts[first:last])
        else:
            rows = take_rows(changes.rows, source)
            there = self.emitted(rows, ops[source], changes.ts[source])
        if len(gone) == 0:
            return there
        left = self.emitted(
            take_rows(changes.rows, gone),
            np.full(len(gone), LEAVE, np.uint8),
            until,
        )
        return Changes.concat([there, left], self.schema)

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
        ops = np.where(sums > 0, np.where(has_old[codes], UPDATE, ENTER), LEAVE).astype(np.uint8)
        source = np.flatnonzero((sums > 0) | ~has_new[codes])
        kept = take_rows(rows.rows, source)
        return self.emitted(kept, ops[source], rows.ts[source])

    def _without_key(self, every: Changes) -> Changes:
        _, sums, first = net(every, every.schema.names)
        source = np.repeat(first, np.abs(sums))
        ops = np.repeat(np.where(sums > 0, ENTER, LEAVE), np.abs(sums))
        rows = take_rows(every.rows, source)
        return self.emitted(rows, ops, every.ts[source])

    def emitted(self, rows: pa.RecordBatch, ops: np.ndarray, instants: np.ndarray) -> Changes:
        """Rows with what is said of them; of one that leaves, the key alone."""
        columns = list(rows.columns)
        if self.key is not None and (ops == LEAVE).any():
            leaving = pa.array(ops == LEAVE)
            for i, field in enumerate(rows.schema):
                if field.name not in self.key:
                    columns[i] = pc.if_else(leaving, pa.scalar(None, field.type), columns[i])
        tagged = pa.RecordBatch.from_arrays([letters(ops), *columns], schema=self.schema)
        return Changes.elements(tagged, instants, RANKS[ops])


def letters(ops: np.ndarray) -> pa.Array:
    """The ops as one-letter strings."""
    codes = LETTERS[ops]
    offsets = np.arange(len(ops) + 1, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(ops), [None, pa.py_buffer(offsets), pa.py_buffer(codes)]
    )


@native
def _compare(previous, ts, exp, weight, same):  # type: ignore[no-untyped-def]
    """What each row does to its key, and the rows that end without another row that says so."""
    n = len(ts)
    ops = np.empty(n, np.uint8)
    followed = np.zeros(n, np.bool_)
    for r in range(n):
        p = previous[r]
        if weight[r] < 0:
            ops[r] = NOTHING
            continue
        meets = p >= 0 and weight[p] != 0 and (ts[p] if weight[p] < 0 else exp[p]) == ts[r]
        if meets:
            followed[p] = True
        if weight[r] == 0:
            ops[r] = LEAVE if meets else NOTHING
        elif not meets:
            ops[r] = ENTER
        else:
            ops[r] = NOTHING if same[r] else UPDATE
    gone = np.empty(n, np.int64)
    until = np.empty(n, np.int64)
    count = 0
    for r in range(n):
        end = ts[r] if weight[r] < 0 else exp[r]
        if weight[r] != 0 and not followed[r] and end < INFINITY:
            gone[count] = r
            until[count] = end
            count += 1
    return ops, gone[:count].copy(), until[:count].copy()


def equal_to_previous(columns: list[pa.Array], previous: np.ndarray) -> np.ndarray:
    """Where a row has the same values as the one before it of its key, NULL equal to NULL."""
    same = previous >= 0
    for column in columns:
        if column.null_count == 0 and column.type in (pa.int64(), pa.float64()):
            _keep_equal(same, previous, column.to_numpy())
            continue
        index = np.flatnonzero(same)
        if len(index) == 0:
            break
        here, before = column.take(pa.array(index)), column.take(pa.array(previous[index]))
        if pa.types.is_list(column.type):
            same[index] = same_values(here, before)
            continue
        equal = pc.equal(here, before)
        both = pc.and_(pc.is_null(here), pc.is_null(before))
        equal = pc.or_(pc.fill_null(equal, False), both)
        if pa.types.is_floating(column.type):
            nan = pc.and_(pc.is_nan(here), pc.is_nan(before))
            equal = pc.or_(equal, pc.fill_null(nan, False))
        same[index] = equal.to_numpy(zero_copy_only=False)
    return same


@native
def _keep_equal(same, previous, values):  # type: ignore[no-untyped-def]
    for r in range(len(same)):
        if same[r]:
            x = values[r]
            y = values[previous[r]]
            same[r] = x == y or (x != x and y != y)
