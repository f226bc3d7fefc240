"""LookupJoin: rows joined with a table whose content does not change during the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, take_rows
from millstream.algebra.evaluate import holds
from millstream.algebra.expressions import TRUE, Expression, columns_of, name_text
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime
from millstream.algebra.node import Node, Step
from millstream.algebra.pattern import Label
from millstream.algebra.time import Span
from millstream.columns.keys import factorize
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class StaticTable:
    """The rows of a table, known by name and by a digest of what is in it."""

    name: str
    digest: str
    rows: pa.RecordBatch
    as_of: int | None = None
    """The instant of which these rows are, when changes up to it have been carried out already."""

    def __repr__(self) -> str:
        return f"{self.name}@{self.digest}"


@dataclass(frozen=True, eq=False)
class LookupJoin(Node):
    """A join with a table that never changes: each row with the table rows that meet the condition.

    The keys of both must be equal besides. `outer` keeps input rows without a partner, with NULLs.
    Table columns get the names given.
    Law: a result lives exactly as long as its input row. No state.
    """

    stateless: ClassVar[bool] = True

    table: StaticTable
    names: tuple[str, ...]
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    condition: Expression
    outer: bool
    input: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.input.is_stream

    @cached_property
    def schema(self) -> pa.Schema:
        added = [pa.field(n, f.type) for n, f in zip(self.names, self.table.rows.schema)]
        return pa.schema([*self.input_schema, *added])

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    def lives(self, given: Lifetime) -> Lifetime:
        reason = "rows leave as the input's do: the table never changes"
        return replace(given, label=Label(given.pattern, reason, 1))

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted | columns_of(self.condition) | frozenset(self.left_keys),)

    @property
    def words(self) -> str:
        keys = [f"{name_text(a)} = {name_text(b)}" for a, b in zip(self.left_keys, self.right_keys)]
        rest = [] if self.condition == TRUE else [str(self.condition)]
        on = " and ".join([*keys, *rest]) or "everything"
        names = ", ".join(name_text(name) for name in self.names)
        return f"{'left ' if self.outer else ''}{name_text(self.table.name)} ({names}) on {on}"

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        left, right = self._pairs(changes.rows, len(changes))
        rows = self._joined(changes.rows, left, right)
        if self.condition != TRUE:
            met = holds(self.condition, rows, len(left))
            left, right, rows = left[met], right[met], take_rows(rows, np.flatnonzero(met))
        out = changes.take(left).with_rows(rows)
        if self.outer:
            alone = np.setdiff1d(np.arange(len(changes)), left)
            missing = self._joined(changes.rows, alone, np.full(len(alone), -1))
            both = Changes.concat([out, changes.take(alone).with_rows(missing)], self.schema)
            order = np.argsort(np.concatenate([left, alone]), kind="stable")
            out = both.take(order)
        return state, out

    def _pairs(self, rows: pa.RecordBatch, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Index pairs of input and table rows with equal keys, none of them NULL."""
        size = self.table.rows.num_rows
        if not self.left_keys:
            left = np.repeat(np.arange(length), size)
            return left, np.tile(np.arange(size), length)
        codes, table_codes = self._codes(rows, length)
        order = np.argsort(table_codes, kind="stable")
        low = np.searchsorted(table_codes[order], codes, side="left")
        high = np.searchsorted(table_codes[order], codes, side="right")
        times = np.where(codes >= 0, high - low, 0)
        left = np.repeat(np.arange(length), times)
        offset = np.arange(len(left)) - np.repeat(np.cumsum(times) - times, times)
        return left, order[np.repeat(low, times) + offset]

    def _codes(self, rows: pa.RecordBatch, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Equal numbers for equal keys on both sides; negative and different for NULL."""
        schema = pa.schema([(n, rows.schema.field(n).type) for n in self.left_keys])
        mine = rows.select(list(self.left_keys))
        theirs = self.table.rows.select(list(self.right_keys)).cast(
            pa.schema([(n, t.type) for n, t in zip(self.right_keys, schema)])
        )
        both = concat_rows([mine, theirs], schema)
        codes, _ = factorize(both.columns, both.num_rows)
        for column in both.columns:
            if column.null_count:
                codes[column.is_null().to_numpy(zero_copy_only=False)] = -1
        table_codes = codes[length:]
        return codes[:length], np.where(table_codes < 0, -2, table_codes)

    def _joined(self, rows: pa.RecordBatch, left: np.ndarray, right: np.ndarray) -> pa.RecordBatch:
        mine = [column.take(pa.array(left)) for column in rows.columns]
        index = pa.array(np.maximum(right, 0), mask=right < 0)
        theirs = [column.take(index) for column in self.table.rows.columns]
        return pa.RecordBatch.from_arrays([*mine, *theirs], schema=self.schema)
