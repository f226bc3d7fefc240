"""Predicate push-down below operators that make a stream of a relation."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import Dstream, Elements, Filter, Istream, Rstream
from millstream.operators.filter import filtered
from millstream.rules.pieces import conditions, takes_equals_alike


def push_filter_below_istream(node: Node) -> Node | None:
    """Filter the relation instead of the stream of what enters or leaves it.

        Filter price > 100              Istream
          Istream                →        Filter price > 100
            R                               R

    Sound because the difference between two instants is taken value by value. The instants of
    Rstream are those of the windows in FROM, which stand beside R and stay as they are.
    """
    match node:
        case Filter(
            condition=condition, input=(Istream() | Dstream() | Rstream() | Elements()) as stream
        ):
            parts = conditions(condition)
            below = [c for c in parts if takes_equals_alike(c)]
            above = [c for c in parts if not takes_equals_alike(c)]
            if below:
                source = filtered(below, stream.input)
                return filtered(above, replace(stream, input=source))
    return None
