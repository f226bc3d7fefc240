"""NowView: the clock as a relation of one row, which holds its last tick."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.identity import identity_of_version
from millstream.algebra.lifetime import Lifetime, elements, windowed
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.now import NOW, now_of
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.points import Points
from millstream.algebra.state_parts import StatePart
from millstream.algebra.time import Span
from millstream.state.chunks import State

MOST_TICKS = 256
"""Every row of a step is looked at beside each of its ticks, also where it has left by then."""


@dataclass(frozen=True, eq=False)
class NowView(Node):
    """The clock as a relation: one row with the last tick, while that is one of the points.

    Law: at τ, from the first instant of the input on, the row is there exactly when the last tick
    of the clock up to τ is one of the points; `#now` is that tick. The input only carries the time.
    Without the column the row stays as long as points follow each other. No state. Cost: the points
    that go by.
    """

    key: ClassVar[tuple[str, ...]] = ()  # type: ignore[assignment]
    row_limit: ClassVar[int] = 1  # type: ignore[assignment]
    state_parts: ClassVar[tuple[StatePart, ...]] = ()

    points: Points
    input: Node
    is_read: bool = True

    @cached_property
    def schema(self) -> pa.Schema:
        now = now_of(self.time_domain)
        return pa.schema([pa.field(NOW, now.type)] if self.is_read else [])

    @property
    def words(self) -> str:
        return self.points.words(self.time_domain) + ("" if self.is_read else " alone")

    def lives(self, time: Lifetime) -> Lifetime:
        reason = "each tick takes the place of the one before"
        return replace(windowed(elements(), Label(Pattern.WKS, reason)), consolidated=self.is_read)

    @property
    def arrival(self) -> Arrival:
        return Arrival.IGNORED

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (frozenset(),)

    def with_columns(self, wanted: Columns) -> Node:
        return self if NOW in wanted or not self.is_read else replace(self, is_read=False)

    @property
    def required_distribution(self) -> Distribution:
        return ()

    def cuts(self, span: Span, most: int) -> list[int]:
        if span.begin is None:
            return []
        most = min(most, MOST_TICKS) if self.is_read else most
        return self.points.cuts(max(span.start, span.begin - 1), span.end, most)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if span.begin is None:
            return {}, Changes.empty(self.schema)
        tick = self.points.tick
        opens = span.start < span.begin
        first = span.begin // tick * tick if opens else span.start + 1
        ticks = self.points.within(first - 1, span.end)
        if not self.is_read:
            ticks = ticks[~self._there(ticks - tick) | (ticks == first if opens else False)]
        ts = np.maximum(ticks, span.begin) if opens else ticks
        ends = ticks + tick if self.is_read else (~self.points).from_on(ticks)
        columns = [pa.array(ticks).cast(self.schema.field(0).type)] if self.is_read else []
        rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        made = Changes.elements(rows, ts, identity_of_version(ticks))
        return {}, replace(made, exp=ends)

    def _there(self, ticks: np.ndarray) -> np.ndarray:
        """Whether each of some ticks is one of the points."""
        return self.points.from_on(ticks) == ticks
