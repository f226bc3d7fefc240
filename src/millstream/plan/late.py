"""What is carried out once a batch, when all steps are done: what reads synchronized relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.algebra.node import Node
from millstream.operators import Exchange, Stored, Sync, SyncAt, Tagged


def late_tops(tops: Iterable[Node]) -> Mapping[Node, Node]:
    """Of the nodes that are asked for on a level, those that take the rows of a sync one by one,
    each with that sync.

    At its points a sync hands on few rows, to many queries perhaps: what these make of them is
    made once a batch, not once a step. Sound because operators take every instant whole and once,
    however many steps there are; so what anything else reads is not among them.
    """
    tops = tuple(tops)
    found = {top: sync for top in tops if (sync := _sync_below(top)) is not None}
    early = set[Node]()
    for top in tops:
        if top not in found:
            _collect(top, early)
    return {top: sync for top, sync in found.items() if not _chain(top) & early}


def kept_by(root: Node) -> Node:
    """The node that is asked for, for a root: of a stored result the one that keeps it."""
    return root.keeper if isinstance(root, Stored) else root


def _sync_below(top: Node) -> Node | None:
    if isinstance(top, Sync | SyncAt):
        return None
    while isinstance(top, Tagged | Stored) or (top.row_by_row and top.inputs):
        top = top.inputs[0]
    return top if isinstance(top, Sync | SyncAt) else None


def _chain(top: Node) -> set[Node]:
    """A node and those below it, down to a sync."""
    found = set[Node]()
    while not isinstance(top, Sync | SyncAt):
        found.add(top)
        top = top.inputs[0]
    return found


def _collect(top: Node, found: set[Node]) -> None:
    """Add a node and those below it, down to the exchanges."""
    below = [top]
    while below:
        node = below.pop()
        if node not in found:
            found.add(node)
            below += () if isinstance(node, Exchange) else node.inputs
