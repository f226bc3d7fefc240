"""Synchronization and join commute: between two points, what cancels is not joined."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import Join, Sync


def push_sync_below_join(node: Node) -> Node | None:
    """Let the inputs of a join change at the points, and join what has changed by then.

        Sync every 5              Join a = b
          Join a = b                Sync every 5
            A (a)           →         A (a)
            B (b)                   Sync every 5
                                      B (b)

    Sound because both inputs are what they were at the same last point, so their pairs are those of
    that point (Corollary 3, the other way); and a pair is known by its two parts either way.

    It pays when rows come and go between two points: changes of one key cancel before they meet
    their partners. So the cost decides.
    """
    match node:
        case Sync(points=points, input=Join() as join):
            left, right = (Sync(points, side) for side in join.inputs)
            return replace(join, left=left, right=right)
    return None
