"""Filter: keep the rows for which a condition is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.choose import kept
from millstream.algebra.expressions import Expression, columns_of, conjunction
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import Distribution, Node, Step, Wanted
from millstream.algebra.time import Span
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class Filter(Node):
    """WHERE or HAVING: the rows for which the condition is true, neither false nor unknown.

    Law: a change passes exactly when its row does; times and weights stay. No state.
    """

    follows_content: ClassVar[bool] = True

    stateless: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True
    accepts_previous: ClassVar[bool] = True

    condition: Expression
    input: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.input.is_stream

    def lives(self, given: Lifetime) -> Lifetime:
        return passed_on(given)

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival

    @property
    def row_limit(self) -> int | None:  # type: ignore[override]
        return self.input.row_limit

    @property
    def value_limit(self) -> int | None:  # type: ignore[override]
        return self.input.value_limit

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted | columns_of(self.condition),)

    def wish_below(self, wish: Distribution) -> Distribution:
        return wish

    def wanted_below(self, wanted: Wanted) -> Wanted:
        return wanted

    @property
    def words(self) -> str:
        return str(self.condition)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return state, kept(self.condition, changes)


def filtered(parts: Sequence[Expression], node: Node) -> Node:
    """The node below a filter; the node itself when there is nothing to test."""
    return Filter(conjunction(list(parts)), node) if parts else node
