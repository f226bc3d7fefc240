"""Two-phase LIMIT: the first rows of every bucket, before all go to one place."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import PartialTopK, TopK

MOST = 1_000
"""Up to so many rows it pays to find the first ones of every bucket."""


def limit_in_two_phases(node: Node) -> Node | None:
    """Take the first rows where they lie, and of these the first.

        TopK 10 by n                    TopK 10 by n
          GroupBy item: count(*) as n     PartialTopK 10 by n
            R                      →        GroupBy item: count(*) as n
                                              R

    Sound because a row that ten others of its bucket come before is not among the first ten of all.
    For rows that an operator has spread by a key: there the first of a bucket are found without
    sending rows, and most changes do not touch them.
    """
    match node:
        case PartialTopK():
            return None
        case TopK(partition_by=(), input=source) if node.end <= MOST:
            if not isinstance(source, PartialTopK) and _is_spread(source):
                part = PartialTopK(node.order, node.end, 0, (), source)
                return replace(node, input=part)
    return None


def _is_spread(node: Node) -> bool:
    """True for rows that come from an operator that needs them by a key."""
    if node.stateless:
        return len(node.inputs) == 1 and _is_spread(node.inputs[0])
    return bool(node.required_distribution or node.join_keys)
