"""Windows that are written as conditions on Now, made at random."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.algebra.expressions import Call, Column, Expression, Literal, conjunction
from millstream.algebra.node import Node
from millstream.algebra.now import now_of
from millstream.algebra.time import Domain
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.operators import Join, Project, Range, Stamp, Unbounded
from millstream.operators.stamp import INSTANT
from millstream.operators.within import during
from rules.random_syncs import Synchronized

HERE = now_of(Domain.INTEGER)


@dataclass
class Windowed(Synchronized):
    """Makes what rules about conditions on Now apply to."""

    def stamped(self) -> tuple[Project, str]:
        """A stream with the instants of its elements, and how that column is called."""
        scan, column = self.scan(), self.name()
        outputs = [(self.name(), Column(f.name, f.type)) for f in scan.schema]
        return Project((*outputs, (column, Column(INSTANT, INTEGER))), Stamp(scan)), column

    def recent(self, column: str) -> Expression:
        """Whether an instant is one of the last units, written in one of two ways."""
        length, then = self._number(0, 6), Column(column, INTEGER)
        if self.rng.random() < 0.5:
            return Call("<", (Call("-", (HERE, length), INTEGER), then), BOOLEAN)
        return Call("<", (HERE, Call("+", (then, length), INTEGER)), BOOLEAN)

    def lasting(self, column: str, node: Node) -> Expression:
        """Whether a row is recent, or names in a column of its own until when it is valid."""
        own = [f.name for f in node.schema if f.type == INTEGER and f.name != column]
        if not own or self.rng.random() < 0.6:
            return self.recent(column)
        until = Call("+", (Column(self.rng.choice(own), INTEGER), self._number(0, 9)), INTEGER)
        return Call(self.rng.choice(("<", ">=")), (HERE, until), BOOLEAN)

    def within(self) -> tuple[Node, str]:
        """A relation of recent rows, and the column with their instants."""
        stream, column = self.stamped()
        whole: Node = Unbounded(stream) if self.rng.random() < 0.7 else Range(4, stream)
        parts = [self.lasting(column, whole) for _ in range(self.rng.randint(1, 2))]
        return during(parts, (column,), whole), column

    def for_push_filter_below_within(self) -> Node:
        return self.tested(self.within()[0])

    def for_merge_withins(self) -> Node:
        node, column = self.within()
        return during([self.lasting(column, node)], (column,), node)

    def for_push_within_below_project(self) -> Node:
        stream, column = self.stamped()
        renamed = {f.name: self.name() for f in stream.schema}
        outputs = tuple((renamed[f.name], Column(f.name, f.type)) for f in stream.schema)
        whole = Project(outputs, Unbounded(stream))
        return during([self.lasting(renamed[column], whole)], (renamed[column],), whole)

    def for_push_within_below_join(self) -> Node:
        (left, a), (right, b) = self.stamped(), self.stamped()
        sides = [Unbounded(left), Range(5, right)]
        joined = Join(self.between(*sides), *sides)
        parts = [self.lasting(a, joined), self.recent(b)]
        return during(self.rng.sample(parts, self.rng.randint(1, 2)), (a, b), joined)

    def for_range_of_condition(self) -> Node:
        stream, column = self.stamped()
        whole = Unbounded(stream) if self.rng.random() < 0.5 else Range(3, stream)
        return during([self.recent(column)], (column,), whole)

    def for_bound_join_of_near_times(self) -> Node:
        (left, a), (right, b) = self.stamped(), self.stamped()
        near: list[Expression] = [
            Call("<=", (Column(x, INTEGER), self._later(y)), BOOLEAN) for x, y in ((a, b), (b, a))
        ]
        sides: list[Node] = [Unbounded(left), Unbounded(right)]
        sides = [self.tested(s) if self.rng.random() < 0.2 else s for s in sides]
        return Join(conjunction([self.between(*sides), *near]), *sides)

    def for_read_clock_as_now(self) -> Node:
        return self.beside_the_clock(*self.stamped())

    def _later(self, column: str) -> Expression:
        return Call(
            "+", (Column(column, INTEGER), Literal(self.rng.randint(0, 5), INTEGER)), INTEGER
        )
