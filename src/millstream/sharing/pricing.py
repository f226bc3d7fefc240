"""What queries cost over views and over common parts, against what they cost by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Set

from millstream.algebra.node import Node, walk
from millstream.operators import Tagged
from millstream.plan.alternatives import GAIN
from millstream.plan.cost import Costs
from millstream.plan.statistics import Statistics
from millstream.plan.strategy import chosen
from millstream.settings import Settings
from millstream.sharing.shared import Shared


def is_cheaper(
    plan: Node,
    shared: Shared,
    own_views: tuple[Node, ...],
    settings: Settings,
    statistics: Statistics,
) -> bool:
    """Whether a query over views costs less than by itself, beside what these cost anyhow."""
    there: set[Node] = set()
    for view in shared.views:
        there.update(walk(priced(view, (), settings, statistics).plan))
    alone = total(priced(plan, own_views, settings, statistics), there)
    over = priced(shared.plan, (*own_views, *shared.views), settings, statistics)
    return total(over, there) < GAIN * alone


def priced(plan: Node, views: Iterable[Node], settings: Settings, statistics: Statistics) -> Costs:
    """A plan with the prices of its operators; `views` are parts that run anyhow."""
    done = chosen(plan, settings, views)
    return Costs.of(done if done.is_stream else Tagged(None, done), statistics)


def total(costs: Costs, there: Set[Node]) -> float:
    """What the operators cost that are not there anyhow."""
    return sum(costs.cost(node) for node in walk(costs.plan) if node not in there)
