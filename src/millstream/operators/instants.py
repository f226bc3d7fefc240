"""Instants: the time points of a stream, and nothing else of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, no_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.identity import identity_of_version
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Node, Step
from millstream.algebra.time import Span
from millstream.operators.retime import instants_of
from millstream.state.chunks import State

NOTHING = pa.schema([])


@dataclass(frozen=True, eq=False)
class Instants(Node):
    """The instants at which a stream has an element, as a stream of rows without columns.

    It is what two-input operators take as their points: small, and sent to every bucket. Where a
    `column` is given, elements count that name their own instant in it, in units of `scale`.
    Law: there is a row at τ exactly when such an element is. An instant may be there several times,
    since it may have been read in several places. No state.
    """

    is_stream: ClassVar[bool] = True
    stateless: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]

    column: str | None
    scale: int
    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return NOTHING

    @property
    def words(self) -> str:
        if self.column is None:
            return ""
        by = f"of {name_text(self.column)}"
        return f"{by} times {self.scale}" if self.scale > 1 else by

    def lives(self, stream: Lifetime) -> Lifetime:
        return elements()

    @property
    def arrival(self) -> Arrival:
        return Arrival.IGNORED

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (frozenset(() if self.column is None else (self.column,)),)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        there = changes.weight > 0
        if self.column is not None:
            there &= instants_of(changes.rows.column(self.column), self.scale) == changes.ts
        found = np.unique(changes.ts[there])
        rows = no_rows(NOTHING)
        return state, Changes.elements(rows, found, identity_of_version(found))
