"""Lateral: a table function of one's own, called for every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime
from millstream.algebra.node import Node, Step
from millstream.algebra.pattern import Label
from millstream.algebra.time import Span
from millstream.blocks.choose import machine_for
from millstream.blocks.machine import Ending, Failure, Fed, Frame, Instances, Rows
from millstream.blocks.routine import Routine
from millstream.operators.failures import FAILED, failed_rows
from millstream.state.chunks import State
from millstream.state.ordered_run import Order


def called(
    routine: Routine, arguments: tuple[pa.Array, ...], count: int, native: bool = True
) -> tuple[np.ndarray, pa.RecordBatch, tuple[Failure, ...]]:
    """What a function gives for every row of its arguments: rows, each with the number of the row
    that they are for, in order; and the rows that it could not take."""
    machine = machine_for(routine, Ending.NEVER, Frame(), native)
    events = np.arange(count)
    none = np.zeros(0, np.int64)
    order = Order(events, np.arange(count + 1), events, count)
    before = Instances(
        _none(machine.slots), tuple(Rows(none, _none(kinds)) for _, kinds in machine.tables)
    )
    ran = machine.run(Fed(order, arguments, np.ones(count, np.int64)), before, count)
    return ran.event, ran.rows, ran.failed


@dataclass(frozen=True, eq=False)
class Lateral(Node):
    """`TABLE(f(x)) AS t`: each row with the rows that a function of one's own gives for it.

    `outer` keeps rows for which it gives none, with NULLs. `names` are the columns of its rows.
    Law: a result lives exactly as long as its input row. No state.
    """

    stateless: ClassVar[bool] = True

    routine: Routine
    arguments: tuple[str, ...]
    names: tuple[str, ...]
    outer: bool
    input: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.input.is_stream

    @cached_property
    def schema(self) -> pa.Schema:
        added = [pa.field(n, kind) for n, (_, kind) in zip(self.names, self.routine.returns)]
        return pa.schema([*self.input_schema, *added])

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    def lives(self, given: Lifetime) -> Lifetime:
        reason = "rows leave as the input's do: the function looks at nothing else"
        return replace(given, label=Label(given.pattern, reason, 1))

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return ((wanted & frozenset(self.input_schema.names)) | frozenset(self.arguments),)

    @property
    def words(self) -> str:
        given = ", ".join(map(name_text, self.arguments)) or "*"
        names = ", ".join(map(name_text, self.names))
        call = f"{name_text(repr(self.routine))}({given}) as ({names})"
        return f"left {call}" if self.outer else call

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if len(changes) == 0:
            return state, Changes.empty(self.schema)
        arguments = tuple(changes.rows.column(name) for name in self.arguments)
        native = self.state_layout.native
        index, rows, failed = called(self.routine, arguments, len(changes), native)
        columns = rows.columns
        if self.outer:
            alone = np.setdiff1d(np.arange(len(changes)), index)
            order = np.argsort(np.concatenate([index, alone]), kind="stable")
            index = np.concatenate([index, alone])[order]
            columns = [
                pa.concat_arrays([c, pa.nulls(len(alone), c.type)]).take(pa.array(order))
                for c in columns
            ]
        out = changes.take(index)
        both = pa.RecordBatch.from_arrays([*out.rows.columns, *columns], schema=self.schema)
        if failed:
            failures = [(self.routine.name, failure) for failure in failed]
            state = {**state, FAILED: failed_rows(changes, failures)}
        return state, out.with_rows(both)


def _none(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
