"""Predicate push-down below what works partition by partition: GROUP BY, OVER, top-k, windows by
rows and sessions, tagged streams."""

from __future__ import annotations

from millstream.algebra.node import Node, map_inputs
from millstream.operators import Dated, Filter, GroupBy, Over, Rows, Session, Tagger, TopK
from millstream.operators.filter import filtered
from millstream.rules.pieces import conditions, parted, takes_equals_alike


def push_filter_below_partitions(node: Node) -> Node | None:
    """Leave out whole groups or partitions before they are made.

        Filter item = 'pen' and n > 1          Filter n > 1
          GroupBy item: count(*) as n   →        GroupBy item: count(*) as n
            S                                      Filter item = 'pen'
                                                     S

    Sound because no partition knows of the others, and all rows of one are equal in the columns
    the condition reads: they all pass, or the partition is not wanted. A global aggregate has a row
    for no rows too, and a window or a limit without partitions counts all rows: not these. The keys
    of a tagged stream are partitions, unless it tells of what does nothing, and so are equal rows
    that are dated.
    """
    match node:
        case Filter(condition=condition, input=GroupBy(keys=keys) as below) if keys:
            pass
        case Filter(condition=condition, input=(TopK() | Rows() | Session() | Over()) as below) if (
            below.partition_by
        ):
            keys = below.partition_by
        case Filter(condition=condition, input=Tagger(checked=False) as below):
            keys = below.keys
        case Filter(condition=condition, input=Dated() as below):
            keys = tuple(below.input_schema.names)
        case _:
            return None
    mine, rest = parted(conditions(condition), keys)
    pushed = [c for c in mine if takes_equals_alike(c)]
    rest += [c for c in mine if not takes_equals_alike(c)]
    if not pushed:
        return None
    return filtered(rest, map_inputs(below, lambda source: filtered(pushed, source)))
