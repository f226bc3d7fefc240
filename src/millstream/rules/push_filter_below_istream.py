"""Predicate push-down below Istream and Dstream."""

from __future__ import annotations

from millstream.algebra.node import Node, map_inputs
from millstream.operators import Dstream, Elements, Filter, Istream
from millstream.operators.filter import filtered
from millstream.rules.pieces import conditions, takes_equals_alike


def push_filter_below_istream(node: Node) -> Node | None:
    """Filter the relation instead of the stream of what enters or leaves it.

        Filter price > 100              Istream
          Istream                →        Filter price > 100
            R                               R

    Sound because the difference between two instants is taken value by value. Not so for Rstream:
    its instants are those at which something enters or leaves R, wanted or not.
    """
    match node:
        case Filter(condition=condition, input=(Istream() | Dstream() | Elements()) as stream):
            parts = conditions(condition)
            below = [c for c in parts if takes_equals_alike(c)]
            above = [c for c in parts if not takes_equals_alike(c)]
            if below:
                return filtered(above, map_inputs(stream, lambda source: filtered(below, source)))
    return None
