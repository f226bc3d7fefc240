"""SyncAt: a relation that changes at the instants of a stream only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes, forever
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Node, Pairs, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import DAWN, Span
from millstream.operators.sync import added_up
from millstream.state.chunks import Log, State
from millstream.state.events import netted, unfold

WAITS = DAWN
"""The instant of what waits: before all points, so that it comes in at the next one."""


@dataclass(frozen=True, eq=False)
class SyncAt(Node):
    """A relation that changes at the instants of the right input only, which every bucket gets.

    Law: at τ the output is what the left input was at the last instant up to τ at which the right
    has a row, and empty before the first one.
    State: what has changed since the last point, added up as it comes, and the rows whose end lies
    ahead. Cost: the batch, and at a point what has changed since the one before.
    """

    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("waiting", "changes since the last point", Structure.LIST, Extent.BETWEEN),
        ending(),
    )

    left: Node
    right: Node

    @property
    def join_keys(self) -> Pairs:
        return ()

    @property
    def reach(self) -> int | None:
        return None

    def lives(self, given: Lifetime, points: Lifetime) -> Lifetime:
        if given.monotonic:
            label = Label(Pattern.MON, "rows that have come in never leave")
        else:
            label = Label(Pattern.STR, "rows leave at points that a stream brings")
        return left_open(label, given.bounded)

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    @property
    def has_arrival(self) -> bool:
        return self.left.has_arrival

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return wanted, frozenset()

    @property
    def row_limit(self) -> int | None:  # type: ignore[override]
        return self.left.row_limit

    @property
    def value_limit(self) -> int | None:  # type: ignore[override]
        return self.left.value_limit

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        due, events = unfold(state.get("due", Log()), left, span, self.state_layout)
        fresh = _without_ends(events.merged())
        log: Log = state.get("waiting", Log())
        points = np.unique(right.ts)
        if len(points):
            fresh, log = Changes.concat([*log.all(), fresh], self.schema), Log()
        at = np.append(points, WAITS)[np.searchsorted(points, fresh.ts)]
        placed = netted(replace(fresh, ts=at))
        later = placed.keep(placed.ts == WAITS)
        waiting = added_up(log.append(later, later.ts))
        return {"due": due, "waiting": waiting}, placed.keep(placed.ts != WAITS).in_time_order()


def _without_ends(events: Changes) -> Changes:
    """What enters and what leaves; a row that leaves retracts one that has entered for good."""
    return replace(events, exp=forever(len(events)))
