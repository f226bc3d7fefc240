"""Duplicate elimination before a join: copies are not joined."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Column
from millstream.algebra.node import Node
from millstream.operators import Distinct, Join, Project
from millstream.rules.pieces import is_by_value, keeps_all_columns, takes_equals_alike


def push_distinct_below_join(node: Node) -> Node | None:
    """Take copies out of the inputs of a join, not out of its pairs.

        Distinct                        Join a = b
          Join a = b             →        Distinct
            A (a)                           A (a)
            B (b)                         Distinct
                                            B (b)

    Sound because a pair of values is there exactly when both values are; and it is known by its
    values, as each of them is. Where a projection leaves out columns, pairs become equal again, and
    the upper Distinct stays. Conditions that distinguish 0.0 from -0.0 are asked of all copies.

    It pays when there are many copies: they meet the copies of the other side, so that pairs are as
    many as copies times copies. So the cost decides.
    """
    match node:
        case Distinct(input=Join() as join):
            return _pushed(join) if takes_equals_alike(join.condition) else None
        case Distinct(input=Project(input=Join() as join) as project) if _is_plain(project):
            if not takes_equals_alike(join.condition):
                return None
            if keeps_all_columns(project):
                below = _pushed(join)
                return None if below is None else replace(project, input=below)
            below = _without_copies(join)
            return None if below is None else Distinct(replace(project, input=below))
    return None


def _pushed(join: Join) -> Node | None:
    if not all(len(side.schema) for side in join.inputs):
        return None
    left, right = (s if is_by_value(s) else Distinct(s) for s in join.inputs)
    return replace(join, left=left, right=right)


def _without_copies(join: Join) -> Node | None:
    """The join of sides without copies; None if they have none, or are nothing but copies."""
    if not all(len(side.schema) for side in join.inputs):
        return None
    left, right = (s if s.key is not None else Distinct(s) for s in join.inputs)
    same = left is join.left and right is join.right
    return None if same else replace(join, left=left, right=right)


def _is_plain(project: Project) -> bool:
    return all(isinstance(e, Column) or takes_equals_alike(e) for _, e in project.outputs)
