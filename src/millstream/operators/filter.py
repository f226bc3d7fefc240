"""Filter: keep the rows for which a condition is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.choose import chosen
from millstream.algebra.expressions import Expression, conjunction
from millstream.algebra.node import Node, Step
from millstream.algebra.time import Span
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class Filter(Node):
    """Keep the rows for which the condition is true, neither false nor unknown.

    Law: a change passes exactly when its row does; times and weights stay. No state.
    """

    stateless: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True
    accepts_previous: ClassVar[bool] = True

    condition: Expression
    input: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.input.is_stream

    @property
    def words(self) -> str:
        return str(self.condition)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return state, changes.pick(chosen(self.condition, changes.rows, len(changes)))


def filtered(parts: Sequence[Expression], node: Node) -> Node:
    """The node below a filter; the node itself when there is nothing to test."""
    return Filter(conjunction(list(parts)), node) if parts else node
