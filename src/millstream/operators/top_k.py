"""TopK: the first rows of a relation in a given order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import name_text
from millstream.algebra.node import Node, Spread, Step
from millstream.algebra.state import State
from millstream.algebra.time import Span


@dataclass(frozen=True, eq=False)
class TopK(Node):
    """`ORDER BY … LIMIT k OFFSET m`: of every partition, the first k rows after the first m.

    `order` is (column, descending, nulls first) for each column; ties go by the values of all
    columns, ascending, NULL first.
    """

    monotonic: ClassVar[bool] = False  # type: ignore[assignment]

    order: tuple[tuple[str, bool, bool], ...]
    limit: int
    offset: int
    partition_by: tuple[str, ...]
    input: Node

    @property
    def needs(self) -> Spread:
        return self.partition_by

    @property
    def words(self) -> str:
        order = ", ".join(
            f"{name_text(n)}{' desc' if down else ''}{' nulls first' if first else ' nulls last'}"
            for n, down, first in self.order
        )
        by = ", ".join(name_text(name) for name in self.partition_by)
        skip = f" offset {self.offset}" if self.offset else ""
        return f"{self.limit}{skip} by {order}" + (f" per {by}" if by else "")

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        raise NotImplementedError
