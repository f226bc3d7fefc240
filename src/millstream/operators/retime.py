"""Retime: the rows of a stream at the instants that one of their columns names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Node, Step
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import DAWN, Span
from millstream.state.chunks import Log, State
from millstream.state.pending import release


@dataclass(frozen=True, eq=False)
class Retime(Node):
    """The rows that are put into a stream, each at the instant that its ORDER BY column names.

    Law: an element at τ with the value v, in units of `scale`, is an element at v if v ≥ τ, and
    none otherwise, or if v is NULL: time has passed by. State: the rows whose instant has not come
    yet. Cost: the batch and what falls due.
    """

    is_stream: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]
    reach: ClassVar[None] = None  # type: ignore[assignment]
    """A row may name any later time."""
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("waiting", "rows whose time has not come yet", Structure.DUE, Extent.AHEAD),
    )

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
        placed = replace(changes, ts=at, exp=at + 1).keep(at >= changes.ts)
        waiting, out = release(state.get("waiting", Log()), placed, span, self.state_layout.buffer)
        return {"waiting": waiting}, out.in_time_order()


def retime_words(order: str, scale: int) -> str:
    by = f"by {name_text(order)}"
    return f"{by} times {scale}" if scale > 1 else by


def instants_of(column: pa.Array, scale: int) -> np.ndarray:
    """What a column names; before all time where it is NULL or too large to be counted."""
    known = column.is_valid().to_numpy(zero_copy_only=False)
    values = column.cast(pa.int64()).fill_null(0).to_numpy()
    known &= np.abs(values) < -DAWN // scale
    return np.where(known, values * scale, DAWN)
