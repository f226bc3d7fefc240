"""Intersect: the rows that both inputs have, as bags."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node, Step
from millstream.algebra.state import State
from millstream.algebra.time import Span


@dataclass(frozen=True, eq=False)
class Intersect(Node):
    """Every row as often as both inputs have it: the smaller of its two counts."""

    left: Node
    right: Node

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        raise NotImplementedError
