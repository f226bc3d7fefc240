"""Minus: the rows that the left has more often than the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node, Step
from millstream.algebra.state import State
from millstream.algebra.time import Span


@dataclass(frozen=True, eq=False)
class Minus(Node):
    """Every row as often as the left has it more than the right."""

    monotonic: ClassVar[bool] = False  # type: ignore[assignment]

    left: Node
    right: Node

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        raise NotImplementedError
