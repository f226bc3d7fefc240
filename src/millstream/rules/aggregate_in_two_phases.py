"""Two-phase aggregation: rows are put together where they are read, before they are sent."""

from __future__ import annotations

from dataclasses import replace

from millstream.aggregates.call import AggregateCall
from millstream.algebra.node import Node, walk
from millstream.operators import GroupBy, Partial


def aggregate_in_two_phases(node: Node) -> Node | None:
    """Put rows that come and go together into a few, before all rows go to one place.

        GroupBy count(*) as n               GroupBy count(*) as n
          Range 60                            Partial count(*) as n
            S                        →          Range 60
                                                  S

    Sound because counts, whole sums, averages, minima and maxima are the same over the rows that
    are left, with their weights; and at every instant at which a row enters or leaves, one still
    does. Rows may lose their arrival: groups do not know it. Only for rows that come as they are
    read, through operators without state: these run beside each other, the groups do not. Sums of
    doubles are left alone, since they depend on what is added to what.
    """
    match node:
        case GroupBy(keys=(), calls=calls, input=source) if not isinstance(source, Partial):
            arguments = {name for call in calls for name in call.arguments}
            whole = set(source.schema.names) <= arguments
            if whole and _is_read_as_it_is(source) and all(_taken(c, source) for c in calls):
                return replace(node, input=Partial((), calls, source))
    return None


def _is_read_as_it_is(node: Node) -> bool:
    return node.never_retracts and all(part.stateless for part in walk(node))


def _taken(call: AggregateCall, source: Node) -> bool:
    """True when rows can be combined before the aggregate, exactly."""
    combining, kinds = (
        call.aggregate.combines,
        [source.schema.field(n).type for n in call.arguments],
    )
    return combining is not None and all(map(combining.takes, kinds))
