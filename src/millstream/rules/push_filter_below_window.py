"""Filter–window commutativity: test rows before they enter a window by time."""

from __future__ import annotations

from millstream.algebra.node import Node, map_inputs
from millstream.operators import Filter, Now, Range, RangeSlide, Unbounded


def push_filter_below_window(node: Node) -> Node | None:
    """Swap a filter and the time-based window below it.

        Filter C                    S [Range T]
          S [Range T]        →        Filter C

    Sound because a window by time treats every tuple by itself; windows by rows do not.
    """
    match node:
        case Filter(
            condition=condition, input=(Now() | Range() | RangeSlide() | Unbounded()) as window
        ):
            return map_inputs(window, lambda stream: Filter(condition, stream))
    return None
