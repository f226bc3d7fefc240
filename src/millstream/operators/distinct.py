"""Distinct: one copy of every row."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node, Step
from millstream.algebra.state import State
from millstream.algebra.time import Span


@dataclass(frozen=True, eq=False)
class Distinct(Node):
    """One copy of every row that is present, as long as any copy is."""

    input: Node

    @property
    def key(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.schema.names) if self.input.key is None else self.input.key

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        raise NotImplementedError
