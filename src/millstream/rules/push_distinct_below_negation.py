"""Update pattern simplification: copies are removed before rows are retracted."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import AntiJoin, Distinct, Project
from millstream.rules.pieces import is_by_value, keeps_all_columns, takes_equals_alike


def push_distinct_below_negation(node: Node) -> Node | None:
    """Take copies out of the left of an antijoin, not out of what it leaves.

        Distinct                        AntiJoin a = b
          AntiJoin a = b         →        Distinct
            A (a)                           A (a)
            B (b)                         B (b)

    Sound because all copies of a row have a partner or none has: the negation looks at their values
    only. Conditions that see a difference between 0.0 and -0.0 are asked of all copies. All columns
    of A must be kept.

    It pays because no row of A is retracted, so that δ* can be used; and a row instead of all
    its copies is emitted when its partner changes. It costs where few rows of many are left.
    """
    match node:
        case Distinct(input=AntiJoin() as negation):
            return _pushed(negation)
        case Distinct(input=Project(input=AntiJoin() as negation) as project) if keeps_all_columns(
            project
        ):
            below = _pushed(negation)
            return None if below is None else replace(project, input=below)
    return None


def _pushed(negation: AntiJoin) -> Node | None:
    left = negation.left
    if not takes_equals_alike(negation.condition) or not len(left.schema):
        return None
    return replace(negation, left=left if is_by_value(left) else Distinct(left))
