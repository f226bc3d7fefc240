"""Intersect: the rows that both inputs have, as bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node, Pairs, Step
from millstream.algebra.pattern import Label, weak
from millstream.algebra.state_parts import StatePart, counted
from millstream.algebra.time import Span
from millstream.columns.tally import SMALLER
from millstream.operators.counted import count_values
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class Intersect(Node):
    """Every row as often as both inputs have it: the smaller of its two counts.

    State: the counts of the values present, and the rows whose expiration lies ahead.
    Cost: the batch and what falls due.
    """

    never_retracts: ClassVar[bool] = False  # type: ignore[assignment]
    is_consolidated: ClassVar[bool] = True  # type: ignore[assignment]
    state_parts: ClassVar[tuple[StatePart, ...]] = counted(" of the left", " of the right")

    left: Node
    right: Node

    @property
    def join_keys(self) -> Pairs:
        return tuple(zip(self.left.schema.names, self.right.schema.names))

    @property
    def label(self) -> Label:
        return weak(
            (node.pattern for node in self.inputs), "a row leaves with the first of its two copies"
        )

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        return count_values(state, (left, right), SMALLER, self.schema, span, self.state_layout)
