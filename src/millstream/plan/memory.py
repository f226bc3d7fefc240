"""State that grows for ever: which operator keeps it, and what would bound it."""

from __future__ import annotations

from millstream.aggregates.ordered import ORDERED
from millstream.algebra.node import Node, walk
from millstream.errors import Notice
from millstream.operators import GroupBy, Rows, Rstream

WINDOW = "Give the stream a window, for example [Range 1 Hour]."


def growing(plan: Node, stored: bool) -> list[Notice]:
    """A notice for every operator whose state has no bound."""
    found = []
    for node in walk(plan):
        match node:
            case GroupBy(keys=keys) if _is_endless(node.input):
                ordered = [c for c in node.calls if c.function in ORDERED]
                if keys:
                    found.append(
                        Notice(
                            f"the state of GROUP BY {', '.join(keys)} grows with every new group",
                            WINDOW,
                        )
                    )
                if ordered:
                    found.append(
                        Notice(
                            f"the state of {ordered[0].function} grows with every new value", WINDOW
                        )
                    )
            case Rstream() if _is_endless(node.input):
                found.append(Notice("the state of Rstream grows with every row", WINDOW))
            case Rows(partition_by=keys, length=None) if keys:
                found.append(
                    Notice(
                        f"the window keeps rows of every partition of {', '.join(keys)} for good",
                        "Add a Range to the window, so that silent partitions are dropped.",
                    )
                )
    if stored and _is_endless(plan):
        found.append(Notice("the stored result grows with every row", WINDOW))
    return found


def _is_endless(node: Node) -> bool:
    """True when rows never leave by themselves: every window on the way is unbounded."""
    if not node.inputs:
        return False
    return node.monotonic and not node.is_stream
