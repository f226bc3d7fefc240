"""Copies that nobody counts need not be taken out."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node, map_inputs
from millstream.operators import AntiJoin, Distinct, Filter, Project, SemiJoin, UnionAll


def remove_idle_distinct(node: Node) -> Node | None:
    """Leave out a Distinct below another, or on the right of a semi- or antijoin.

        Distinct                        Distinct
          UnionAll               →        UnionAll
            Distinct                        R
              R                             S
            S

    Sound because these ask only whether a row is there: one copy of it is there exactly when any
    copy is. The upper Distinct makes new tuples, known by their values, and a semi- or antijoin
    gives tuples of the left; so nobody sees the tuples that the lower one made.
    """
    match node:
        case Distinct(input=source):
            below = _without_distinct(source)
            return None if below is source else Distinct(below)
        case SemiJoin(right=right) | AntiJoin(right=right):
            below = _without_distinct(right)
            return None if below is right else replace(node, right=below)
    return None


def _without_distinct(node: Node) -> Node:
    """The same rows, if perhaps more often."""
    match node:
        case Distinct(input=source):
            return _without_distinct(source)
        case Filter() | Project() | UnionAll():
            return map_inputs(node, _without_distinct)
    return node
