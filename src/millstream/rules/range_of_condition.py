"""Predicate windows as windows: a condition on the age of rows is `[Range]`."""

from __future__ import annotations

from millstream.algebra.node import Node
from millstream.operators import Range, Unbounded, Within


def range_of_condition(node: Node) -> Node | None:
    """A window for a condition that lets every row of a stream stay for the same time.

        Within (#now - 5) < TS by TS        Range 4
          Unbounded                    →      S (TS)
            S (TS)

    Sound because TS is the instant of a row: both let it stay from TS on, for the same instants. A
    condition that no row ever meets stays what it is.
    """
    match node:
        case Within(input=Unbounded(input=stream)) if node.stays_alike:
            longest = min(length for length in node.lengths if length is not None) - 1
            return Range(longest, stream) if longest >= 0 else None
        case Within(input=Range(length=length, input=stream)) if node.stays_alike:
            longest = min(length, *(n - 1 for n in node.lengths if n is not None))
            return Range(longest, stream) if longest >= 0 else None
    return None
