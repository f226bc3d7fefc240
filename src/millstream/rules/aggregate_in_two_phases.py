"""Two-phase aggregation: rows are put together where they are read, before they are sent."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from millstream.aggregates.call import AggregateCall
from millstream.algebra.node import Node, walk
from millstream.algebra.types import DATE, INTEGER, INTERVAL, TIMESTAMP
from millstream.operators import GroupBy, Partial

TAKEN = {
    "sum": (INTEGER, INTERVAL),
    "avg": (INTEGER,),
    "min": (INTEGER, INTERVAL, TIMESTAMP, DATE),
    "max": (INTEGER, INTERVAL, TIMESTAMP, DATE),
}
"""Aggregates that a few rows can stand for many in, and the types of which they do so exactly."""


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
    if call.function == "count":
        return True
    kinds: tuple[pa.DataType, ...] = TAKEN.get(call.function, ())
    return bool(kinds) and source.schema.field(call.arguments[0]).type in kinds
