"""Filter–window commutativity, for windows written as conditions."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import Filter, Within


def push_filter_below_within(node: Node) -> Node | None:
    """Swap a filter and a condition on Now below it.

        Filter price > 5                  Within #now < (TS + 5)
          Within #now < (TS + 5)    →       Filter price > 5
            R                                 R

    Sound because both look at a row and the instant only: a row is there when both hold. Fewer rows
    wait, and the window comes next to what it is about.
    """
    match node:
        case Filter(input=Within() as window):
            return replace(window, input=replace(node, input=window.input))
    return None
