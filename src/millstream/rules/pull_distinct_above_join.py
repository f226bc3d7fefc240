"""Duplicate elimination after a join: few pairs are looked at instead of many rows."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Column
from millstream.algebra.node import Node
from millstream.operators import Distinct, Join, Project
from millstream.rules.pieces import takes_equals_alike


def pull_distinct_above_join(node: Node) -> Node | None:
    """Take copies out of the pairs of a join, not out of its inputs.

        Join a = b                      Distinct
          Distinct                        Join a = b
            A (a)                  →        A (a)
          Distinct                          B (b)
            B (b)

    Sound because a pair of values is there exactly when both values are; and it is known by its
    values, as each of them is. Below another Distinct, one side is enough. Conditions that
    distinguish 0.0 from -0.0 are asked of the one that a Distinct has kept.

    It pays when few rows find partners, or hardly any has copies. So the cost decides.
    """
    match node:
        case Join(condition=condition, left=Distinct(input=left), right=Distinct(input=right)):
            if takes_equals_alike(condition):
                return Distinct(Join(condition, left, right))
        case Distinct(input=Join() as join):
            below = _with_copies(join)
            return None if below is None else Distinct(below)
        case Distinct(input=Project(outputs=outputs, input=Join() as join) as project):
            plain = all(isinstance(e, Column) or takes_equals_alike(e) for _, e in outputs)
            below = _with_copies(join) if plain else None
            return None if below is None else Distinct(replace(project, input=below))
    return None


def _with_copies(join: Join) -> Node | None:
    """The join without Distinct below it; None if there is none that can go."""
    sides = [side.input if isinstance(side, Distinct) else side for side in join.inputs]
    same = all(new is old for new, old in zip(sides, join.inputs))
    if same or not takes_equals_alike(join.condition):
        return None
    return Join(join.condition, *sides)
