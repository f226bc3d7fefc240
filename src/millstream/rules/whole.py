"""Whole: a mark on a part of a plan that is rewritten by itself."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import Node, transform


@dataclass(frozen=True, eq=False)
class Whole(Node):
    """A mark on a part of a plan that others read as well: rules know nothing of it, and stop.

    It is no operator: it stands in plans only while rules are applied.
    """

    input: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.input.is_stream

    def lives(self, given: Lifetime) -> Lifetime:
        return passed_on(given)


def without_marks(root: Node) -> Node:
    """The plan without marks."""
    return transform(root, lambda node: node.input if isinstance(node, Whole) else node)
