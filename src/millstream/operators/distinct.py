"""Distinct: one copy of every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node, Spread, Step
from millstream.algebra.pattern import Label, weak
from millstream.algebra.state import State
from millstream.algebra.time import Span
from millstream.columns.tally import PRESENT
from millstream.operators.counted import count_values


@dataclass(frozen=True, eq=False)
class Distinct(Node):
    """One copy of every row that is present, as long as any copy is.

    State: the counts of the values present, and the rows whose expiration lies ahead.
    Cost: the batch and what falls due.
    """

    only_adds: ClassVar[bool] = False  # type: ignore[assignment]
    is_clean: ClassVar[bool] = True  # type: ignore[assignment]

    input: Node

    @property
    def key(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.schema.names) if self.input.key is None else self.input.key

    @property
    def needs(self) -> Spread:
        return tuple(self.schema.names)

    @property
    def label(self) -> Label:
        return weak(
            (node.pattern for node in self.inputs), "a value leaves with the last of its copies"
        )

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return count_values(state, (changes,), PRESENT, self.schema, span)
