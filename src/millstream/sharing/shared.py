"""What a query that is computed from others looks like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from millstream.algebra.node import Node, map_inputs
from millstream.operators import Stored, Tagged


@dataclass(frozen=True)
class Shared:
    """The plan of a query over the plans of others.

    Law: `plan` has the rows of the query's own plan at every instant. `over` names the queries it
    is computed from, `views` are the plans of these, as they stand in it, with the parts that it
    has in `common` with queries that are not computed from each other.
    """

    plan: Node
    over: tuple[str, ...]
    views: tuple[Node, ...]
    common: tuple[Node, ...] = ()

    def under(self, root: Node) -> Node:
        """A root of the query over this plan."""
        if isinstance(root, (Tagged, Stored)):
            return map_inputs(root, lambda _: self.plan)
        return self.plan

    def mapped(self, change: Callable[[Node], Node]) -> Shared:
        """The same with all plans changed."""
        views, common = (tuple(map(change, parts)) for parts in (self.views, self.common))
        return replace(self, plan=change(self.plan), views=views, common=common)
