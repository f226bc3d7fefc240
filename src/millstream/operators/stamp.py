"""Stamp: the instant and arrival number of stream elements as columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Columns
from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import Node, Step
from millstream.algebra.time import Span
from millstream.state.chunks import State

INSTANT = "#instant"
STAMPS = (INSTANT, "#arrival")


@dataclass(frozen=True, eq=False)
class Stamp(Node):
    """Each row of a stream with two more columns: its instant and its arrival number.

    Aggregates that go by time (first, last) order by them. No state.
    """

    is_stream: ClassVar[bool] = True
    stateless: ClassVar[bool] = True

    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.input_schema, *[pa.field(n, pa.int64()) for n in STAMPS]])

    def lives(self, stream: Lifetime) -> Lifetime:
        return passed_on(stream)

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted,)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        columns = [*changes.rows.columns, pa.array(changes.ts), pa.array(changes.arrival)]
        rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return state, changes.with_rows(rows)
