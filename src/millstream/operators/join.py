"""Join: pairs of rows that are present together and meet a condition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import TRUE, Expression
from millstream.algebra.node import Node, Step
from millstream.algebra.state import State
from millstream.algebra.time import Span


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Each left row with every right row that is present with it and meets the condition.

    Law: a pair lives from the later start to the earlier end.
    """

    condition: Expression
    left: Node
    right: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.left.schema, *self.right.schema])

    @cached_property
    def key(self) -> tuple[str, ...] | None:
        if self.left.key is None or self.right.key is None:
            return None
        return (*self.left.key, *self.right.key)

    @property
    def words(self) -> str:
        return "everything" if self.condition == TRUE else str(self.condition)

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        raise NotImplementedError
