"""Predicate push-down: test rows before they are joined."""

from __future__ import annotations

from millstream.algebra.expressions import conjunction
from millstream.algebra.node import Node
from millstream.operators import (
    AntiJoin,
    Filter,
    Join,
    LookupJoin,
    NonRetroactiveJoin,
    SemiJoin,
    SingleJoin,
)
from millstream.operators.filter import filtered
from millstream.rules.pieces import conditions, parted, with_left


def push_filter_below_join(node: Node) -> Node | None:
    """Test what concerns one side on that side, and what concerns both while joining.

        Filter a > 1 and b > 2 and a = b        Join a = b
          Join everything                  →      Filter a > 1
            L (a)                                   L (a)
            R (b)                                 Filter b > 2
                                                    R (b)

    Sound because a pair lives as long as both of its parts and meets a condition exactly when they
    do, whatever its times: the same pairs, made of the same tuples, enter and leave. A semi- or
    antijoin, or a join with a table, gives left rows as they are: a condition on them does not care
    for partners. What a left join fills with NULLs is tested above it.
    """
    match node:
        case Filter(condition=condition, input=Join(left=left, right=right) as join):
            on_left, rest = parted(conditions(condition), left.schema.names)
            on_right, rest = parted(rest, right.schema.names)
            both = conjunction([*conditions(join.condition), *rest])
            return Join(both, filtered(on_left, left), filtered(on_right, right))
        case Filter(condition=condition, input=(SemiJoin() | AntiJoin()) as join):
            return with_left(join, Filter(condition, join.left))
        case Filter(
            condition=condition, input=(LookupJoin() | NonRetroactiveJoin() | SingleJoin()) as join
        ):
            left = join.inputs[0]
            below, rest = parted(conditions(condition), left.schema.names)
            if below:
                return filtered(rest, with_left(join, filtered(below, left)))
    return None
