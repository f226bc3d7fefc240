"""Plans that were made: a query that stays the same is not planned again when others change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field

from millstream.algebra.node import Node


@dataclass
class PlanCache:
    """The physical plans of queries, by their distributed plan and all else they follow from.

    Law: what is found is what would be made. It stays in its process: workers get plans, not the
    cache.
    """

    plans: dict[tuple[Node, Hashable], Node] = field(default_factory=dict)

    def physical(self, plan: Node, settled: Hashable, make: Callable[[], Node]) -> Node:
        """The physical plan of a distributed one."""
        if (plan, settled) not in self.plans:
            self.plans[plan, settled] = make()
        return self.plans[plan, settled]

    def only(self, wanted: Collection[Node]) -> PlanCache:
        """The cache without what was made of distributed plans that nobody wants any more."""
        return PlanCache({key: made for key, made in self.plans.items() if key[0] in wanted})

    def __getstate__(self) -> dict[str, dict]:
        return {"plans": {}}
