"""Conditions of a join that concern one side only are tests of that side."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import conjunction
from millstream.algebra.node import Node
from millstream.operators import AntiJoin, Join, LookupJoin, NonRetroactiveJoin, SemiJoin
from millstream.operators.filter import filtered
from millstream.rules.pieces import conditions, parted


def push_condition_below_join(node: Node) -> Node | None:
    """Move parts of a join's condition that read one side only below that side.

        Join a = b and a > 1                Join a = b
          L (a)                        →      Filter a > 1
          R (b)                                 L (a)
                                              R (b)

    Sound because a conjunction is true when all of its parts are: rows that fail one have no
    partners. In an antijoin, a left row that fails its part has no partners and therefore stays:
    only what concerns the right side moves. A left join with a table is alike.
    """
    match node:
        case (
            Join(condition=condition, left=left, right=right)
            | NonRetroactiveJoin(condition=condition, outer=False, left=left, right=right)
        ):
            on_left, rest = parted(conditions(condition), left.schema.names)
            on_right, rest = parted(rest, right.schema.names)
        case SemiJoin(condition=condition, left=left, right=right):
            on_right, rest = parted(conditions(condition), right.schema.names)
            on_left, rest = parted(rest, left.schema.names)
        case (
            AntiJoin(condition=condition, left=left, right=right)
            | NonRetroactiveJoin(condition=condition, left=left, right=right)
        ):
            on_right, rest = parted(conditions(condition), right.schema.names)
            on_left = []
        case LookupJoin(condition=condition, outer=False, input=left):
            on_left, rest = parted(conditions(condition), left.schema.names)
            if not on_left:
                return None
            return replace(node, condition=conjunction(rest), input=filtered(on_left, left))
        case _:
            return None
    if not on_left and not on_right:
        return None
    left, right = filtered(on_left, left), filtered(on_right, right)
    return replace(node, condition=conjunction(rest), left=left, right=right)
