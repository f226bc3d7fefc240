"""Two-phase duplicate elimination: copies that are there at the same time are sent once."""

from __future__ import annotations

from millstream.algebra.node import Node
from millstream.operators import Coalesce, Distinct, Scan


def coalesce_before_distinct(node: Node) -> Node | None:
    """Merge equal rows that overlap, before they are sent to where copies are removed.

        Distinct                        Distinct
          R                      →        Coalesce
                                            R

    Sound because a value is present from the first of its rows to the end of the last. For what
    is computed where rows are read, so that fewer of them have to go elsewhere.
    """
    match node:
        case Distinct(input=source) if not isinstance(source, Coalesce) and _is_read(source):
            return Distinct(Coalesce(source))
    return None


def _is_read(node: Node) -> bool:
    """True for a relation that only stateless operators make from what is read."""
    if node.is_stream:
        return isinstance(node, Scan) or (node.stateless and all(map(_is_read, node.inputs)))
    return node.stateless and bool(node.inputs) and all(map(_is_read, node.inputs))
