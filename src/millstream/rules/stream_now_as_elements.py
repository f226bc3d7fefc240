"""Rstream over Now is the stream itself."""

from __future__ import annotations

from millstream.algebra.node import Node
from millstream.operators import Elements, Filter, LookupJoin, Now, Project, Rstream


def stream_now_as_elements(node: Node) -> Node | None:
    """Replace Rstream over a select-project of Now by the elements themselves.

        Rstream                     Elements
          Select-Project     →        Select-Project
            S [Now]                     S [Now]

    Sound because every row is present at one instant, which its own entrance makes active.
    """
    if isinstance(node, Rstream) and _is_over_now(node.input):
        return Elements(node.input)
    return None


def _is_over_now(node: Node) -> bool:
    if isinstance(node, (Filter, Project, LookupJoin)):
        return _is_over_now(node.input)
    return isinstance(node, Now)
