"""Minus: the rows that the left has more often than the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Node, Pairs, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import StatePart, counted
from millstream.algebra.time import Span
from millstream.columns.tally import SURPLUS
from millstream.operators.counted import count_values
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class Minus(Node):
    """EXCEPT: every row as often as the left has it more than the right.

    State: the counts of the values present, and the rows whose expiration lies ahead.
    Cost: the batch and what falls due.
    """

    follows_content: ClassVar[bool] = True
    takes_at_once: ClassVar[bool] = True

    state_parts: ClassVar[tuple[StatePart, ...]] = counted(" of the left", " of the right")

    left: Node
    right: Node

    @property
    def join_keys(self) -> Pairs:
        return tuple(zip(self.left.schema.names, self.right.schema.names))

    def lives(self, left: Lifetime, right: Lifetime) -> Lifetime:
        label = Label(Pattern.STR, "a row on the right takes a left one back", 5)
        return left_open(label, bounded=left.bounded)

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        return count_values(state, (left, right), SURPLUS, self.schema, span, self.state_layout)
