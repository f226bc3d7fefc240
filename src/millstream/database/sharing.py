"""Which registered queries are computed from others, and what their authors are told."""

from __future__ import annotations

from dataclasses import replace

from millstream.database.registry import Registered, Registry
from millstream.engine.outputs import Query
from millstream.errors import Notice
from millstream.plan.statistics import Statistics
from millstream.settings import Settings
from millstream.sharing.common import marked
from millstream.sharing.feeding import Feeding
from millstream.sharing.rewriting import over_views, substituted
from millstream.sharing.shared import Shared


def share(registry: Registry, settings: Settings, statistics: Statistics) -> dict[str, Query]:
    """Decide for the queries that are new which others they are computed from, and what they have
    in common; gives these queries as they are registered now.

    Law: a query is computed only from those that stand before it.
    """
    found: dict[str, Query] = {}
    if settings.sharing == "off":
        return found
    known, new = _known(registry)
    for one in new.values():
        known.commons.add(marked(one.query.plan, one.query.views))
    for key, one in new.items():
        if not one.looked_at:
            query = _looked_at(one.query, known, settings, statistics)
            registry.by_name[key] = one = Registered(query, one.statement, True)
            if query.shared is not None:
                found[query.name] = query
        _add(one, known)
    registry.feeding = known
    return found


def as_shared(
    query: Query, registry: Registry, settings: Settings, statistics: Statistics
) -> Query:
    """A query that is not registered, as it would be computed if it were."""
    if settings.sharing == "off":
        return query
    known, new = _known(registry)
    for one in new.values():
        known.commons.add(marked(one.query.plan, one.query.views))
        _add(one, known)
    return _looked_at(query, known, settings, statistics)


def _known(registry: Registry) -> tuple[Feeding, dict[str, Registered]]:
    """What new queries can be computed from as far as that is known, and the queries after that.

    It grows with the registry; where that has changed otherwise, it is found out anew.
    """
    known, new = registry.feeding, dict[str, Registered]()
    for key, one in reversed(registry.by_name.items()):
        if one is known.last:
            break
        new[key] = one
    if known.count + len(new) != len(registry.by_name):
        known, new = Feeding(), dict(reversed(registry.by_name.items()))
    return known, dict(reversed(new.items()))


def _add(one: Registered, known: Feeding) -> None:
    query = one.query
    plan = query.plan if query.shared is None else query.shared.plan
    known.add(one, query.name, query.plan, plan)


def _looked_at(query: Query, known: Feeding, settings: Settings, statistics: Statistics) -> Query:
    """A query as it is computed from others, if it is."""
    plan = substituted(query.plan, known.carried)
    own = tuple(known.carried.get(view, view) for view in query.views)
    common = known.commons.over(marked(query.plan, query.views), settings, statistics)
    if common is not None:
        whole, *parts = (substituted(one, known.carried) for one in (common.plan, *common.parts))
        views = tuple(dict.fromkeys((*own, *parts)))
        return replace(query, shared=Shared(whole, (), views, tuple(parts)))
    shared = over_views(query.name, plan, own, known.views, settings, statistics)
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
