"""Synchronization: points that change nothing are left out."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import Sync, SyncAt
from millstream.rules.contained_points import Clock, contains


def remove_idle_sync(node: Node) -> Node | None:
    """Leave out a sync at every instant, and put two syncs of which one holds the other into one.

        Sync every 6              Sync every 6
          Sync every 2      →       R
            R

    Sound because the last point of the outer sync is one of the inner one, too, and then the inner
    relation is R as it stands there (Theorem 1). The other way round, a relation that changes at
    every sixth instant only is the same at every second one. So it is for streams of points.
    """
    if not isinstance(node, Sync | SyncAt):
        return None
    if isinstance(node, Sync) and node.points.is_every_instant:
        return node.input
    inner = _below(node)
    if not isinstance(inner, Sync | SyncAt):
        return None
    if contains(_clock(inner), _clock(node)):
        below = _below(inner)
        return replace(node, input=below) if isinstance(node, Sync) else replace(node, left=below)
    return inner if contains(_clock(node), _clock(inner)) else None


def _clock(node: Sync | SyncAt) -> Clock:
    return node.points if isinstance(node, Sync) else node.right


def _below(node: Sync | SyncAt) -> Node:
    return node.input if isinstance(node, Sync) else node.left
