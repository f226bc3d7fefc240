"""Two filters in a row are one."""

from __future__ import annotations

from millstream.algebra.expressions import conjunction
from millstream.algebra.node import Node
from millstream.operators import Filter


def merge_filters(node: Node) -> Node | None:
    """Replace Filter A over Filter B by Filter B AND A.

    Sound because a row passes both exactly when both conditions are true.
    """
    match node:
        case Filter(condition=upper, input=Filter(condition=lower, input=source)):
            return Filter(conjunction([lower, upper]), source)
    return None
