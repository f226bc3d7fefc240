"""Relations that change at points, made at random: of the clock, or of another stream."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.aggregates.builtin import named
from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import Call, Column, Expression, Literal, conjunction
from millstream.algebra.node import Node, walk
from millstream.algebra.points import Points
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.bind.relations.clock_stream import time_of
from millstream.operators import (
    Filter,
    GroupBy,
    Instants,
    Join,
    Project,
    Scan,
    Sync,
    SyncAt,
    Ticks,
    Unbounded,
)
from millstream.operators.ticks import TIMEPOINT
from rules.random_relations import Relations


@dataclass
class Synchronized(Relations):
    """Makes what rules about syncs and the clock apply to."""

    def points(self) -> Points:
        every = self.rng.choice((1, 2, 2, 3, 4, 6))
        found = Points.every(every, self.rng.randrange(every), 1)
        return found | Points.every(5, 0, 1) if self.rng.random() < 0.2 else found

    def synchronized(self, node: Node) -> Node:
        if self.rng.random() < 0.7:
            return Sync(self.points(), node)
        return SyncAt(node, Instants(None, 1, self.scan()))

    def for_push_filter_below_sync(self) -> Node:
        return self.tested(self.synchronized(self.relation(self.rng.choice((0, 1)))))

    def for_remove_idle_sync(self) -> Node:
        """One period is often a multiple of the other; or the points are those of one stream."""
        below = self.relation(self.rng.choice((0, 1)))
        if self.rng.random() < 0.3:
            points = Instants(None, 1, self.scan())
            return SyncAt(SyncAt(below, points), points)
        periods = [self.rng.choice((1, 2, 3)), self.rng.choice((2, 4, 6))]
        self.rng.shuffle(periods)
        inner, outer = (Points.every(period, 0, 1) for period in periods)
        return Sync(outer, Sync(inner, below))

    def for_pull_sync_above_join(self) -> Node:
        points = self.points()
        left, right = (Sync(points, self.relation(0)) for _ in range(2))
        return Join(self.between(left, right), left, right)

    def for_push_sync_below_join(self) -> Node:
        left, right = self.relation(self.rng.choice((0, 0, 1))), self.relation(0)
        return Sync(self.points(), Join(self.between(left, right), left, right))

    def for_push_filter_into_clock(self) -> Node:
        clock = Ticks(self.points(), time_of(self.scan()))
        time = Column(TIMEPOINT, INTEGER)
        rest = Call("%", (time, self._number(2, 5)), INTEGER)
        conditions: list[Expression] = [
            Call(self.rng.choice(("=", "<>", "<")), (rest, self._number(0, 2)), BOOLEAN),
            Call(self.rng.choice((">=", "<", "<>")), (time, self._number(0, 20)), BOOLEAN),
        ]
        return Filter(conjunction(self.rng.sample(conditions, self.rng.randint(1, 2))), clock)

    def beside_the_clock(self, stream: Project, column: str) -> Node:
        """Rows of the last units, beside the one row with the last tick."""
        last, (scan,) = self.name(), (n for n in walk(stream) if isinstance(n, Scan))
        points = Points.every(self.rng.choice((1, 1, 2)), 0, 1)
        side: Node = Unbounded(stream)
        side = Sync(points, side) if self.rng.random() < 0.5 else side
        latest = AggregateCall(last, named("max"), (TIMEPOINT,), INTEGER)
        clock = GroupBy((), (latest,), Unbounded(Ticks(points, time_of(scan))))
        then, now = Column(column, INTEGER), Column(last, INTEGER)
        first = Call("-", (now, self._number(0, 6)), INTEGER)
        condition = conjunction(
            [Call("<", (first, then), BOOLEAN), Call("<=", (then, now), BOOLEAN)]
        )
        sides = (side, clock) if self.rng.random() < 0.5 else (clock, side)
        wanted = [f for f in stream.schema if f.name != column]
        return Project(
            tuple((f.name, Column(f.name, f.type)) for f in wanted), Join(condition, *sides)
        )

    def _number(self, least: int, most: int) -> Expression:
        return Literal(self.rng.randint(least, most), INTEGER)
