"""Merge: two streams as one, in the order of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Distribution, Node, Step, home_of
from millstream.algebra.time import Span
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class Merge(Node):
    """What several INSERT statements fill a stream with: the elements of both inputs.

    Law: every element at its instant; those of one instant in the order of their arrival numbers,
    which `Fill` has made different on both sides. No state.
    """

    is_stream: ClassVar[bool] = True
    stateless: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]

    left: Node
    right: Node

    def lives(self, left: Lifetime, right: Lifetime) -> Lifetime:
        return elements()

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    @property
    def has_arrival(self) -> bool:
        return self.left.has_arrival and self.right.has_arrival

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return wanted, wanted

    def distribution(self, given: Distribution, *others: Distribution) -> Distribution:
        (other,) = others
        if home_of(given, 1) is not None and given != other:
            return None
        return given if given == other else None

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        return state, Changes.concat([left, right], self.schema)
