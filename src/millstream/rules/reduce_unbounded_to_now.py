"""Window reduction: what only grows need not be kept to be streamed."""

from __future__ import annotations

from millstream.algebra.node import Node, map_inputs
from millstream.operators import Filter, Istream, LookupJoin, Now, Project, Rstream, Unbounded


def reduce_unbounded_to_now(node: Node) -> Node | None:
    """Replace an unbounded window under Istream by Now under Rstream.

        Istream                     Rstream
          Select-Project     →        Select-Project
            S [Unbounded]               S [Now]

    Sound because every tuple enters an unbounded window once and never leaves.
    """
    if isinstance(node, Istream) and (body := _with_now(node.input)) is not None:
        return Rstream(body)
    return None


def _with_now(node: Node) -> Node | None:
    """The select-project-lookup plan over Now instead of Unbounded, or None if it is another."""
    if isinstance(node, Unbounded):
        return Now(node.input)
    if isinstance(node, (Filter, Project, LookupJoin)):
        below = _with_now(node.input)
        return None if below is None else map_inputs(node, lambda _: below)
    return None
