"""Synchronization and selection commute: only rows that are wanted wait for a point."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import Filter, Sync, SyncAt


def push_filter_below_sync(node: Node) -> Node | None:
    """Swap a filter and the sync below it.

        Filter C                  Sync every 5
          Sync every 5      →       Filter C
            R                         R

    Sound because the rows at an instant that meet the condition are the same whether they are
    looked at now or at the last point (Corollary 2); also where the points are those of a stream.
    """
    match node:
        case Filter(input=Sync() as sync):
            return replace(sync, input=replace(node, input=sync.input))
        case Filter(input=SyncAt() as sync):
            return replace(sync, left=replace(node, input=sync.left))
    return None
