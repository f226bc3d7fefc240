"""Synchronization and join commute: one sync for two inputs that change at the same points."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import Join, Sync


def pull_sync_above_join(node: Node) -> Node | None:
    """Join at every change, and let what comes out change at the points.

        Join a = b                Sync every 5
          Sync every 5              Join a = b
            A (a)           →         A (a)
          Sync every 5                B (b)
            B (b)

    Sound because both inputs are what they were at the same last point, so their pairs are those of
    that point (Corollary 3); and a pair is known by its two parts either way.

    It pays when the inputs hardly change and pairs are few: then less waits. So the cost decides.
    """
    match node:
        case Join(left=Sync() as left, right=Sync() as right) if left.points == right.points:
            return Sync(left.points, replace(node, left=left.input, right=right.input))
    return None
