"""Reach: how far back the rows lie that what a plan gives from an instant on depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.algebra.node import Node
from millstream.operators import (
    Dstream,
    Istream,
    Now,
    Range,
    RangeSlide,
    Rows,
    Rstream,
    Scan,
    TableScan,
)

Reach = Mapping[str, int | None]
"""For every stream a length of time; None where a row may matter for ever."""


def reach_of(node: Node) -> Reach:
    """The longest time before an instant τ from which a row of a stream matters at τ or later.

    Law: without the rows before τ − reach, the plan has the same content at τ, and gives the same
    from then on. The windows of a stream that is derived from windows add up. A window that is not
    known here reaches back to the beginning.
    """
    if isinstance(node, Scan):
        return {node.stream: 0}
    below = together(map(reach_of, node.inputs))
    more = _own(node)
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


def _own(node: Node) -> int | None:
    """What an operator adds to the reach of its inputs."""
    match node:
        case TableScan():
            return 0 if node.is_static else None
        case Range(length=length):
            return length
        case RangeSlide(length=int(length), slide=slide):
            return length + slide
        case Rows(length=int(length), slide=1):
            return length
        case Now():
            return 0
        case Istream() | Dstream() | Rstream():
            return 1
    return None if node.is_window else 0
