"""Ticks: the clock as a stream of time points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.identity import identity_of_version
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.points import Points
from millstream.algebra.state_parts import StatePart
from millstream.algebra.time import Domain, Span
from millstream.algebra.types import INTEGER, TIMESTAMP
from millstream.state.chunks import State

TIMEPOINT = "Timepoint"


@dataclass(frozen=True, eq=False)
class Ticks(Node):
    """The clock: at each of the points an element whose only column is that instant.

    Law: there is an element at τ exactly when τ is one of the points, and at or after the first
    instant of the input, which only carries the time. No state. Cost: the points that go by.
    """

    is_stream: ClassVar[bool] = True
    key: ClassVar[tuple[str, ...]] = (TIMEPOINT,)  # type: ignore[assignment]
    state_parts: ClassVar[tuple[StatePart, ...]] = ()

    points: Points
    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        kind = TIMESTAMP if self.time_domain is Domain.TIMESTAMP else INTEGER
        return pa.schema([pa.field(TIMEPOINT, kind)])

    @property
    def words(self) -> str:
        return self.points.words(self.time_domain)

    def lives(self, time: Lifetime) -> Lifetime:
        return elements("what the clock has told stays told")

    @property
    def arrival(self) -> Arrival:
        return Arrival.IGNORED

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (frozenset(),)

    @property
    def required_distribution(self) -> Distribution:
        return ()

    def cuts(self, span: Span, most: int) -> list[int]:
        if span.begin is None:
            return []
        return self.points.cuts(max(span.start, span.begin - 1), span.end, most)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if span.begin is None:
            return {}, Changes.empty(self.schema)
        found = self.points.within(max(span.start, span.begin - 1), span.end)
        column = pa.array(found).cast(self.schema.field(0).type)
        rows = pa.RecordBatch.from_arrays([column], schema=self.schema)
        return {}, Changes.elements(rows, found, identity_of_version(found))
