"""Filter–window commutativity: test rows before they enter a window by time."""

from __future__ import annotations

from millstream.algebra.node import Node, map_inputs
from millstream.operators import Filter, Hop, Now, Range, RangeSlide, Unbounded
from millstream.operators.filter import filtered
from millstream.rules.pieces import conditions, parted


def push_filter_below_window(node: Node) -> Node | None:
    """Swap a filter and the time-based window below it.

        Filter C                    S [Range T]
          S [Range T]        →        Filter C

    Sound because a window by time treats every tuple by itself; windows by rows and sessions do
    not. A condition on `window_start` or `window_end`, which the window itself gives, stays above.
    """
    match node:
        case Filter(
            condition=condition,
            input=(Now() | Range() | RangeSlide() | Unbounded() | Hop()) as window,
        ):
            mine, rest = parted(conditions(condition), window.input.schema.names)
            if not mine:
                return None
            return filtered(rest, map_inputs(window, lambda stream: filtered(mine, stream)))
    return None
