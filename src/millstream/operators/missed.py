"""Missed: the rows that are put into a stream after the time that they name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Node, Step
from millstream.algebra.time import Span
from millstream.operators.retime import instants_of, retime_words
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class Missed(Node):
    """The late rows of a stream that queries fill: those that `Retime` leaves out.

    Law: the elements at τ whose value is before τ, or NULL, at τ. No state.
    """

    is_stream: ClassVar[bool] = True
    stateless: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]

    order: str
    scale: int
    input: Node

    def lives(self, stream: Lifetime) -> Lifetime:
        return elements()

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted | {self.order},)

    @property
    def words(self) -> str:
        return retime_words(self.order, self.scale)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        at = instants_of(changes.rows.column(self.order), self.scale)
        return state, changes.keep(at < changes.ts)
