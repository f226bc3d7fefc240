"""Fill: the rows that one INSERT puts into a stream, beside those of others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Node, Step
from millstream.algebra.time import Span
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class Fill(Node):
    """The rows that one of several INSERT statements puts into a stream.

    Law: rows of one instant come in the order of their sides, those of one side as they arrived:
    the side stands above the low `bits` of the arrival number. No state.
    """

    is_stream: ClassVar[bool] = True
    stateless: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]

    side: int
    bits: int
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
        return (wanted,)

    @property
    def words(self) -> str:
        return f"{self.side + 1} above {self.bits} bits"

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        own = np.where(changes.seq < 0, 0, changes.seq & ((1 << self.bits) - 1))
        return state, replace(changes, seq=(np.int64(self.side) << self.bits) + own)
