"""Duplicate elimination by δ*, wherever the input takes no rows back."""

from __future__ import annotations

from millstream.algebra.node import Node, everywhere
from millstream.operators import DeltaStar, Distinct


def with_stars(root: Node) -> Node:
    """The plan with DeltaStar in the place of every Distinct whose input only adds rows."""
    return everywhere(root, _star)


def _star(node: Node) -> Node:
    match node:
        case Distinct(input=source) if source.only_adds:
            return DeltaStar(source)
    return node
