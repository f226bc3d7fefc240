"""Predicate windows below joins."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import columns_of
from millstream.algebra.node import Node
from millstream.algebra.now import NOW
from millstream.operators import Join, Within
from millstream.operators.within import during
from millstream.rules.pieces import conditions


def push_within_below_join(node: Node) -> Node | None:
    """Take rows out of a join that have left their own window.

        Within #now < (a + 5) and #now < (b + 9)        Join everything
          Join everything                          →      Within #now < (a + 5)
            L (a)                                           L (a)
            R (b)                                         Within #now < (b + 9)
                                                            R (b)

    Sound because a pair is there while both of its parts are: it meets a condition on one part
    while that does. The join then forgets a row when it leaves.
    """
    match node:
        case Within(input=Join() as join) if node.points is None:
            left, rest = _of(node, join.left, conditions(node.condition))
            right, rest = _of(node, join.right, rest)
            if left is join.left and right is join.right:
                return None
            return during(rest, node.times, replace(join, left=left, right=right))
    return None


def _of(node: Within, side: Node, parts: list) -> tuple[Node, list]:  # type: ignore[type-arg]
    """One side with the conditions that are about it, and the others."""
    names = {*side.schema.names, NOW}
    mine = [part for part in parts if columns_of(part) <= names]
    return during(mine, node.times, side), [part for part in parts if part not in mine]
