"""UnionAll: the rows of both inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Columns
from millstream.algebra.identity import identity_of_side
from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import Distribution, Node, Step, home_of
from millstream.algebra.time import Span
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class UnionAll(Node):
    """UNION ALL: the rows of both inputs, copies too, with the column names of the left.

    Law: the sum of both. No state.
    """

    follows_content: ClassVar[bool] = True

    stateless: ClassVar[bool] = True

    left: Node
    right: Node

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    def lives(self, left: Lifetime, right: Lifetime) -> Lifetime:
        return passed_on(left, right)

    @cached_property
    def value_limit(self) -> int | None:
        left, right = self.left.value_limit, self.right.value_limit
        return None if left is None or right is None else left + right

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        """The columns at the same positions on both sides."""
        pairs = zip(self.left.schema.names, self.right.schema.names)
        return wanted, frozenset(theirs for mine, theirs in pairs if mine in wanted)

    def distribution(self, given: Distribution, *others: Distribution) -> Distribution:
        """The same for all columns at the same positions, or anywhere."""
        names = dict(zip(self.right.schema.names, self.left.schema.names))
        (other,) = others
        if home_of(given, 1) is not None and given == other:
            return given
        same = other is not None and all(name in names for name in other)
        return given if same and tuple(names[n] for n in other or ()) == given else None

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        parts = [
            replace(
                changes.with_rows(changes.rows.rename_columns(self.schema.names)),
                seq=identity_of_side(changes.seq, side),
            )
            for side, changes in enumerate((left, right))
        ]
        return state, Changes.concat(parts, self.schema)
