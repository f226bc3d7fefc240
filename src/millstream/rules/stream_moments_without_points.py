"""Rstream of what is there at single instants needs no points."""

from __future__ import annotations

from millstream.algebra.node import Node
from millstream.algebra.points import Points
from millstream.operators import (
    AntiJoin,
    Distinct,
    Filter,
    GroupBy,
    Join,
    Lateral,
    LookupJoin,
    Minus,
    NonRetroactiveJoin,
    Now,
    Project,
    Rstream,
    SemiJoin,
    SingleJoin,
    TopK,
    UnionAll,
)

EVERY_INSTANT = (Points.all(1),)


def stream_moments_without_points(node: Node) -> Node | None:
    """Let Rstream look at a relation whenever it has rows, if these come with rows of Now.

        Rstream                         Rstream every 1
          Join item = thing      →        Join item = thing
            Now                             Now
              Scan bids                       Scan bids
            Range 5                         Range 5
              Scan asks                       Scan asks
          Active
            UnionAll …

    Sound because the relation has rows only at instants at which an element enters a window of one
    instant: these are among the points, and at all others there is nothing to emit. So the other
    windows are not looked at, and nothing is sent to every bucket.
    """
    match node:
        case Rstream(input=relation, points=points, every=every) if _is_momentary(relation):
            if points is not None or every != EVERY_INSTANT:
                return Rstream(EVERY_INSTANT, False, relation)
    return None


def _is_momentary(node: Node) -> bool:
    """Whether a relation has rows only at instants of elements under Now."""
    match node:
        case Now():
            return True
        case Join() | SemiJoin():
            return any(map(_is_momentary, node.inputs))
        case UnionAll():
            return all(map(_is_momentary, node.inputs))
        case GroupBy(keys=()):
            return False
        case (Filter() | Project() | LookupJoin() | Lateral() | Distinct() | GroupBy() | TopK()) | (
            NonRetroactiveJoin() | AntiJoin() | SingleJoin() | Minus()
        ):
            return _is_momentary(node.inputs[0])
    return False
