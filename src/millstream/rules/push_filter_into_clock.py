"""The clock ticks only at the points that are asked for."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Expression
from millstream.algebra.node import Node
from millstream.operators import Filter, Ticks
from millstream.operators.clocked import points_of
from millstream.operators.filter import filtered
from millstream.rules.pieces import conditions


def push_filter_into_clock(node: Node) -> Node | None:
    """Compute the points at which a condition on the clock holds, instead of testing every tick.

        Filter (Timepoint % 5) = 0          Ticks every 5
          Ticks every 1               →       …
            …

    Sound because the points are those at which the condition holds, so the same elements come. It
    applies to the parts of a condition that are seen to be arithmetic on the clock; others stay.
    """
    if not (isinstance(node, Filter) and isinstance(node.input, Ticks)):
        return None
    ticks, rest = node.input, list[Expression]()
    for condition in conditions(node.condition):
        points = points_of(Filter(condition, ticks))
        if points is None:
            rest.append(condition)
        else:
            ticks = replace(ticks, points=points)
    return None if ticks is node.input else filtered(rest, ticks)
