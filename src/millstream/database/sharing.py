"""Which registered queries are computed from others, and what their authors are told."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.database.registry import Registered, Registry
from millstream.engine.outputs import Query
from millstream.errors import Notice
from millstream.plan.statistics import Statistics
from millstream.settings import Settings
from millstream.sharing.rewriting import View, Views, over_views, substituted
from millstream.sharing.shared import Shared


def share(registry: Registry, settings: Settings, statistics: Statistics) -> dict[str, Query]:
    """Decide for the queries that are new which others they are computed from; gives these queries
    as they are registered now.

    Law: a query is computed only from those that stand before it.
    """
    found: dict[str, Query] = {}
    if settings.sharing == "off" or all(one.looked_at for one in registry.by_name.values()):
        return found
    views, carried = Views(), dict[Node, Node]()
    for key, one in registry.by_name.items():
        if not one.looked_at:
            query = _looked_at(one.query, views, carried, settings, statistics)
            registry.by_name[key] = one = Registered(query, one.statement, True)
            if query.shared is not None:
                found[query.name] = query
        _add(one.query, views, carried)
    return found


def as_shared(
    query: Query, registry: Registry, settings: Settings, statistics: Statistics
) -> Query:
    """A query that is not registered, as it would be computed if it were."""
    if settings.sharing == "off":
        return query
    views, carried = Views(), dict[Node, Node]()
    for one in registry.by_name.values():
        _add(one.query, views, carried)
    return _looked_at(query, views, carried, settings, statistics)


def _add(query: Query, views: Views, carried: dict[Node, Node]) -> None:
    """Let later queries be computed from one."""
    plan = query.plan if query.shared is None else query.shared.plan
    if plan is not query.plan:
        carried[query.plan] = plan
    views.add(View(query.name, plan))


def _looked_at(
    query: Query,
    views: Views,
    carried: dict[Node, Node],
    settings: Settings,
    statistics: Statistics,
) -> Query:
    """A query as it is computed from others, if it is."""
    plan = substituted(query.plan, carried)
    own = tuple(carried.get(view, view) for view in query.views)
    shared = over_views(query.name, plan, own, views, settings, statistics)
    if shared is None:
        return query if plan is query.plan else replace(query, shared=Shared(plan, (), own))
    notice = told(shared).about(query.name)
    shared = replace(shared, views=tuple(dict.fromkeys((*own, *shared.views))))
    return replace(query, shared=shared, notices=(*query.notices, notice))


def told(shared: Shared) -> Notice:
    """What the author of a query is told that is computed from others."""
    names = " and ".join(f'"{name}"' for name in shared.over)
    return Notice(
        f"it is computed from {names}, which has all it needs"
        if len(shared.over) == 1
        else f"it is computed from {names}, which have all it needs",
        "Write SET sharing = off to compute every query by itself.",
    )
