"""Filter–window commutativity, the other way: one window for several filters."""

from __future__ import annotations

from millstream.algebra.node import Node, map_inputs
from millstream.operators import Filter, Hop, Now, Range, RangeSlide, Unbounded


def pull_filter_above_window(node: Node) -> Node | None:
    """Swap a time-based window and the filter below it.

        S [Range T]                 Filter C
          Filter C           →        S [Range T]

    Sound because a window by time treats every tuple by itself; windows by rows and
    sessions do not.

    The optimizer goes the other way, so this is not among RULES. It gives the form in which
    queries can be compared: two that differ in their filters have the window in common, which may
    then be computed once, and a query that filters more is contained in one that filters less.
    """
    match node:
        case (Now() | Range() | RangeSlide() | Unbounded() | Hop()) as window if isinstance(
            window.input, Filter
        ):
            below = window.input
            return Filter(below.condition, map_inputs(window, lambda _: below.input))
    return None
