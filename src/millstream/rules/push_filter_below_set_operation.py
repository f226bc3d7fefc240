"""Predicate push-down through set operations: test rows before copies are counted."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Column, Expression, conjunction
from millstream.algebra.node import Node
from millstream.operators import Distinct, Filter, Intersect, Minus, UnionAll
from millstream.operators.filter import filtered
from millstream.rules.pieces import conditions, substitute, takes_equals_alike


def push_filter_below_set_operation(node: Node) -> Node | None:
    """Filter the inputs of UNION ALL, INTERSECT ALL, EXCEPT ALL and DISTINCT, not the result.

        Filter a > 1                    Minus
          Minus                  →        Filter a > 1
            L (a)                           L (a)
            R (b)                         Filter b > 1
                                            R (b)

    Sound because these treat every value by itself, and a condition is a matter of the value: all
    copies of a row pass, on both sides, or none does. Columns of the right side have their own
    names, and are found by position. Conditions that see a difference between 0.0 and -0.0 stay
    above.
    """
    match node:
        case Filter(condition=condition, input=UnionAll() as union):
            return _pushed(union, condition)
        case Filter(condition=condition, input=(Distinct() | Intersect() | Minus()) as sets):
            parts = conditions(condition)
            below = [c for c in parts if takes_equals_alike(c)]
            above = [c for c in parts if not takes_equals_alike(c)]
            return filtered(above, _pushed(sets, conjunction(below))) if below else None
    return None


def _pushed(node: Distinct | UnionAll | Intersect | Minus, condition: Expression) -> Node:
    if isinstance(node, Distinct):
        return Distinct(Filter(condition, node.input))
    right = node.right.schema
    values = {n: Column(f.name, f.type) for n, f in zip(node.left.schema.names, right)}
    theirs = Filter(substitute(condition, values), node.right)
    return replace(node, left=Filter(condition, node.left), right=theirs)
