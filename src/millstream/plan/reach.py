"""Reach: how far back the rows lie that what a plan gives from an instant on depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.algebra.node import Node
from millstream.operators import Scan

Reach = Mapping[str, int | None]
"""For every stream a length of time; None where a row may matter for ever."""


def reach_of(node: Node) -> Reach:
    """The longest time before an instant τ from which a row of a stream matters at τ or later.

    Law: without the rows before τ − reach, the plan has the same content at τ, and gives the same
    from then on. The windows of a stream that is derived from windows add up. A window that
    does not say how far it reaches back reaches to the beginning.
    """
    if isinstance(node, Scan):
        return {node.stream: 0}
    below = together(map(reach_of, node.inputs))
    more = node.reach
    if more == 0:
        return below
    return {s: None if r is None or more is None else r + more for s, r in below.items()}


def together(every: Iterable[Reach]) -> dict[str, int | None]:
    """The longest reach of every stream."""
    found: dict[str, int | None] = {}
    for reach in every:
        for stream, length in reach.items():
            known = found.get(stream, 0)
            found[stream] = None if known is None or length is None else max(known, length)
    return found
