"""The clock ticks only at the points that are asked for."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import Filter, Ticks
from millstream.operators.clocked import points_of


def push_filter_into_clock(node: Node) -> Node | None:
    """Compute the points at which a condition on the clock holds, instead of testing every tick.

        Filter (Timepoint % 5) = 0          Ticks every 5
          Ticks every 1               →       …
            …

    Sound because the points are those at which the condition holds, so the same elements come. It
    applies where the condition is seen to be arithmetic on the clock.
    """
    match node:
        case Filter(input=Ticks() as ticks) if (points := points_of(node)) is not None:
            return replace(ticks, points=points)
    return None
