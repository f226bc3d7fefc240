"""AntiJoin: the left rows for which no right row is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import TRUE, Expression
from millstream.algebra.node import Node, Step
from millstream.algebra.state import State
from millstream.algebra.time import Span


@dataclass(frozen=True, eq=False)
class AntiJoin(Node):
    """The left rows, as long as no right row is present that meets the condition."""

    monotonic: ClassVar[bool] = False  # type: ignore[assignment]

    condition: Expression
    left: Node
    right: Node

    @property
    def words(self) -> str:
        return "everything" if self.condition == TRUE else str(self.condition)

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        raise NotImplementedError
