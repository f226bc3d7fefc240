"""Duplicate elimination by δ*, wherever the input never retracts rows."""

from __future__ import annotations

from collections.abc import Set

from millstream.algebra.node import Node, transform, walk
from millstream.operators import DeltaStar, Distinct


def with_stars(root: Node, counted: Set[str] = frozenset()) -> Node:
    """The plan with DeltaStar in the place of every Distinct whose input never retracts rows.

    `counted` names states that another strategy left. When δ* takes such a state over, it
    retracts rows for once: a Distinct above it goes on counting until the next time.
    """

    def star(node: Node) -> Node:
        match node:
            case Distinct(input=source) if source.never_retracts and not _takes_over(
                source, counted
            ):
                return DeltaStar(source)
        return node

    return transform(root, star)


def _takes_over(root: Node, counted: Set[str]) -> bool:
    every = (node for node in walk(root) if isinstance(node, (Distinct, DeltaStar)))
    return any(node.state_name in counted for node in every)
