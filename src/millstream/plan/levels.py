"""What a distributed plan says of its nodes: how their rows lie in buckets, and on which level."""

from __future__ import annotations

from functools import lru_cache

from millstream.algebra.node import Distribution, Node
from millstream.operators import Exchange


@lru_cache(maxsize=10_000)
def distribution_of(node: Node) -> Distribution:
    """How the output of a distributed plan lies in buckets."""
    return node.distribution(*map(distribution_of, node.inputs)) if node.inputs else None


@lru_cache(maxsize=10_000)
def level_of(node: Node) -> int:
    """Level 0 runs where the rows are read; each exchange leads one level up."""
    below = max((level_of(child) for child in node.inputs), default=0)
    return below + isinstance(node, Exchange)
