"""SemiJoin: the left rows for which some right row is there."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import TRUE, Expression
from millstream.algebra.node import Node, Step
from millstream.algebra.state import State
from millstream.algebra.time import Span


@dataclass(frozen=True, eq=False)
class SemiJoin(Node):
    """The left rows, as long as at least one right row is present that meets the condition."""

    condition: Expression
    left: Node
    right: Node

    @property
    def words(self) -> str:
        return "everything" if self.condition == TRUE else str(self.condition)

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        raise NotImplementedError
