"""Copies that nobody counts need not be removed."""

from __future__ import annotations

from millstream.algebra.expressions import Column, Expression
from millstream.algebra.node import Node, map_inputs
from millstream.operators import Distinct, Filter, Project, UnionAll
from millstream.rules.pieces import takes_equals_alike


def remove_idle_distinct(node: Node) -> Node | None:
    """Leave out a Distinct below another.

        Distinct                        Distinct
          UnionAll               →        UnionAll
            Distinct                        R
              R                             S
            S

    Sound because the upper one asks only whether a row is there: one copy of it is there exactly
    when any copy is. It makes new tuples, known by their values; so nobody sees the tuples that
    the lower one made. Not where a node in between distinguishes 0.0 from -0.0, which the lower one
    made one row.
    """
    match node:
        case Distinct(input=source):
            below = _without_distinct(source)
            return None if below is source else Distinct(below)
    return None


def _without_distinct(node: Node) -> Node:
    """The same rows, if perhaps more often."""
    match node:
        case Distinct(input=source):
            return _without_distinct(source)
        case Filter(condition=condition) if not takes_equals_alike(condition):
            return node
        case Project(outputs=outputs) if not all(_is_plain(e) for _, e in outputs):
            return node
        case Filter() | Project() | UnionAll():
            return map_inputs(node, _without_distinct)
    return node


def _is_plain(value: Expression) -> bool:
    return isinstance(value, Column) or takes_equals_alike(value)
