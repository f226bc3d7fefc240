"""Rstream over Now is the stream itself."""

from __future__ import annotations

from millstream.algebra.node import Node, has_state
from millstream.operators import (
    Elements,
    Filter,
    Lateral,
    LookupJoin,
    NonRetroactiveJoin,
    Now,
    Project,
    Rstream,
    UnionAll,
)
from millstream.rules.whole import Whole


def stream_now_as_elements(node: Node) -> Node | None:
    """Replace Rstream over a select-project of Now by the elements themselves.

        Rstream                     Elements
          Select-Project     →        Select-Project
            S [Now]                     S [Now]

    Sound because every row is present at one instant, at which its element enters: so that instant
    is among the points of Rstream, and the other points do not matter.
    """
    if isinstance(node, Rstream) and _is_over_now(node.input):
        return Elements(node.input)
    return None


def _is_over_now(node: Node) -> bool:
    match node:
        case Whole(input=part) if not has_state(part):
            return _is_over_now(part)
        case UnionAll(left=left, right=right):
            return _is_over_now(left) and _is_over_now(right)
        case Filter() | Project() | Lateral() | LookupJoin() | NonRetroactiveJoin():
            return _is_over_now(node.inputs[0])
    return isinstance(node, Now)
