"""Sync: a relation that changes at points of the clock only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes, forever
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Ends, Lifetime, passed_on
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Pattern
from millstream.algebra.points import Points
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import INFINITY, Span
from millstream.state.chunks import Log, State
from millstream.state.events import netted
from millstream.state.waiting import add_waiting, due_in

FEW = 4096
"""Waiting rows are not added up before there are this many new ones."""


@dataclass(frozen=True, eq=False)
class Sync(Node):
    """A relation that changes at points of the clock only, such as every fifth minute.

    Law: at τ the output is what the input was at the last point up to τ, and empty before the first
    one. So a row [ts, exp) becomes [p(ts), p(exp)), where p(x) is the first point at or after x; a
    row for which these are the same is never there, and of several changes of one key between two
    points only what they come to is left.
    State: the rows whose point has not come, added up as they come. Cost: the batch, and at a point
    what has changed since the one before.
    """

    keeps_ends: ClassVar[bool] = True
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("waiting", "changes since the last point", Structure.DUE, Extent.BETWEEN),
    )

    points: Points
    input: Node

    @property
    def words(self) -> str:
        return self.points.words(self.time_domain)

    @property
    def reach(self) -> int | None:
        return self.points.longest_wait

    def lives(self, given: Lifetime) -> Lifetime:
        """A tuple that leaves and comes again can leave and enter at one point."""
        once = given.pattern in (Pattern.MON, Pattern.WKS) and not given.retracts
        consolidated = given.consolidated and (once or given.ends is Ends.OPEN)
        return replace(passed_on(given), consolidated=consolidated)

    def closes(self, last: int) -> int:
        """The point at which what waits comes in."""
        return self.points.first_from(last) or last

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival

    def wish_below(self, wish: Distribution) -> Distribution:
        return wish

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted,)

    @property
    def row_limit(self) -> int | None:  # type: ignore[override]
        return self.input.row_limit

    @property
    def value_limit(self) -> int | None:  # type: ignore[override]
        return self.input.value_limit

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        log: Log = state.get("waiting", Log())
        moved = self._moved(changes)
        if self.input.lifetime.ends is Ends.OPEN:
            moved = _left_open(moved, span.end)
        now, later = moved.split(moved.ts, span.end)
        due = due_in(self.state_layout.buffer, log, span, "ts")
        out = netted(Changes.concat([*due, now], self.schema))
        waiting = add_waiting(self.state_layout.buffer, log, later, span.end, "ts")
        return {"waiting": added_up(waiting)}, out.in_time_order()

    def _moved(self, changes: Changes) -> Changes:
        """The rows at their points, without those that come and go between two."""
        enter = self.points.from_on(changes.ts)
        if (changes.exp == INFINITY).all():
            moved = replace(changes, ts=enter)
            return moved if (enter != INFINITY).all() else moved.keep(enter != INFINITY)
        leave = self.points.from_on(changes.exp)
        return replace(changes, ts=enter, exp=leave).keep(enter < leave)


def _left_open(rows: Changes, end: int) -> Changes:
    """Rows that leave after an instant stay until others retract them: of a relation whose rows
    have no known ends, all that is known of one is what has been emitted by then."""
    leaving = (rows.exp > end) & (rows.exp != INFINITY)
    if not leaving.any():
        return rows
    back = rows.keep(leaving)
    back = replace(back, ts=back.exp, exp=forever(len(back)), weight=-back.weight)
    stay = replace(rows, exp=np.where(leaving, INFINITY, rows.exp))
    return Changes.concat([stay, back], rows.schema)


def added_up(log: Log) -> Log:
    """What waits, as one chunk of net changes, when it has become twice as much as it was.

    Law: what is left of a tuple and point is the sum of its rows. Cost: every row is added up a few
    times, and what is kept is at most twice what has changed.
    """
    if len(log.chunks) < 2:
        return log
    rows = [chunk.rows for chunk in log.chunks]
    if sum(rows[1:]) < max(rows[0], FEW) or not any(_retract(part) for part in log.all()):
        return log
    parts = log.all()
    whole = netted(Changes.concat(parts, parts[0].schema))
    whole = whole.take(np.argsort(whole.ts, kind="stable"))
    return Log().append(whole, whole.ts)


def _retract(changes: Changes) -> bool:
    return bool((changes.weight < 0).any())
