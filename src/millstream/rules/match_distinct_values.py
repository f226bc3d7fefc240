"""Equal partners need to be looked at only once."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Column, columns_of
from millstream.algebra.node import Node
from millstream.operators import AntiJoin, Distinct, Project, SemiJoin


def match_distinct_values(node: Node) -> Node | None:
    """Take copies out of the right of a semi- or antijoin, in the columns that are looked at.

        SemiJoin a = b                  SemiJoin a = b
          L                      →        L
          R                               Distinct
                                            Project b
                                              R

    Sound because it matters only whether a partner is there. It pays because left rows then have
    one partner instead of many, which changes when the value comes or goes, not with every copy.
    """
    match node:
        case SemiJoin(right=Distinct()) | AntiJoin(right=Distinct()):
            return None
        case (
            SemiJoin(condition=condition, right=right) | AntiJoin(condition=condition, right=right)
        ):
            used = columns_of(condition)
            if right.key is not None and set(right.key) <= used:
                return None
            fields = [f for f in right.schema if f.name in used]
            values = tuple((f.name, Column(f.name, f.type)) for f in fields)
            return replace(node, right=Distinct(Project(values, right)))
    return None
