"""Frames that slide by several rows, computed in panes."""

from __future__ import annotations

from math import gcd

from millstream.aggregates.partials import has_partials
from millstream.algebra.frame import Frame
from millstream.algebra.node import Node
from millstream.operators import Over, Panes

WORTH = 8
"""Smaller panes cost more to put together than the rows that they stand for."""


def slide_in_panes(node: Node) -> Node | None:
    """Compute aggregates over frames by rows that slide in panes, and put these together.

        Over Rows 39 Preceding Slide 10: sum(x)  →  Panes Rows 39 Preceding Slide 10: sum(x)
          S                                           S

    Sound because the totals of panes put together are those of their rows, and the least value of
    the least ones is the least. Only where this holds for all calls, and where panes are worth it:
    their rows divide the frame and the slide. A frame that does not reach over a slide is one.
    """
    match node:
        case Over(partition_by, frame, calls, source) if (
            calls and _is_in_panes(frame) and all(map(has_partials, calls))
        ):
            return Panes(partition_by, frame, calls, source)
    return None


def _is_in_panes(frame: Frame) -> bool:
    if frame.rows is None or frame.slide is None:
        return False
    return frame.rows <= frame.slide or gcd(frame.rows, frame.slide) >= WORTH
