"""Begin: a relation or stream from an instant on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import Node, Step
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.state.chunks import Log, State
from millstream.state.pending import release


@dataclass(frozen=True, eq=False)
class Begin(Node):
    """The rows of a relation from an instant on; the elements of a stream after it.

    It stands below the root of a query that joined a running job without the rows that its windows
    held: from this instant on they hold none of them.

    Law: before the instant the relation is empty, from then on it is the input.
    State: until the instant, the rows that enter with it.
    """

    keeps_ends: ClassVar[bool] = True
    follows_content: ClassVar[bool] = True
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("waiting", "rows that enter when the query begins", Structure.DUE, Extent.OPEN),
    )

    instant: int
    input: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.input.is_stream

    @property
    def words(self) -> str:
        return str(self.instant)

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival

    def lives(self, given: Lifetime) -> Lifetime:
        """Rows that were retracted before the instant enter and leave with it."""
        passed = passed_on(given)
        return passed if self.is_stream else replace(passed, consolidated=False)

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted,)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if self.is_stream:
            return {}, changes.keep(changes.ts > self.instant)
        if span.start >= self.instant:
            return {}, changes
        there = changes.keep(changes.exp > self.instant)
        clipped = replace(there, ts=np.maximum(there.ts, self.instant))
        waiting, entered = release(state.get("waiting", Log()), clipped, span)
        return {"waiting": waiting}, entered.in_time_order()
