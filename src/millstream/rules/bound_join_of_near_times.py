"""Joins of rows that come shortly after each other: older ones need not be kept."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Call, Expression
from millstream.algebra.node import Node
from millstream.algebra.now import bounds_of, now_of
from millstream.operators import Filter, Istream, Join, Project, Range, Unbounded
from millstream.operators.within import length_of
from millstream.rules.instants_of_rows import came_then
from millstream.rules.pieces import conditions, substitute


def bound_join_of_near_times(node: Node) -> Node | None:
    """Let a join forget rows that are too old for any row to come.

        Join a.TS <= b.TS + 5 and b.TS <= a.TS + 5        Unbounded
          Unbounded                                         Istream
            A (a.TS)                                 →        Join a.TS <= b.TS + 5 and …
          Unbounded                                             Range 5
            B (b.TS)                                              A (a.TS)
                                                                Range 5
                                                                  B (b.TS)

    Sound because a pair enters when its later part comes, and the earlier one is then in its
    window: with the instant of the later one for Now, the condition says so. A pair stays for good.
    No equal pair leaves when one enters: equal pairs have come at one instant.
    """
    match node:
        case Join(left=left, right=right) if _only_grows(left) and _only_grows(right):
            parts = conditions(node.condition)
            lengths = _length(parts, left, right), _length(parts, right, left)
            if None in lengths:
                return None
            windows = [_bounded(side, max(n or 0, 0)) for side, n in zip((left, right), lengths)]
            return Unbounded(Istream(replace(node, left=windows[0], right=windows[1])))
    return None


def _only_grows(side: Node) -> bool:
    """An unbounded window over a stream, with its conditions and columns."""
    while isinstance(side, Project | Filter):
        side = side.input
    return isinstance(side, Unbounded)


def _length(parts: list[Expression], mine: Node, other: Node) -> int | None:
    """How old a row of one side can be when one of the other comes that it meets."""
    found = []
    for part in parts:
        names = [n for n in other.schema.names if came_then(other, n)]
        if not isinstance(part, Call) or not names:
            continue
        now = now_of(mine.time_domain)
        asked = substitute(part, {name: now for name in names})
        times = tuple(n for n in mine.schema.names if came_then(mine, n))
        lengths = [length_of(b, times) for b in bounds_of(asked) or () if not b.first]
        found += [length - 1 for length in lengths if length is not None]
    return min(found, default=None)


def _bounded(side: Node, length: int) -> Node:
    """The side over a window of that length."""
    if isinstance(side, Unbounded):
        return Range(length, side.input)
    (below,) = side.inputs
    return replace(side, input=_bounded(below, length))  # type: ignore[call-arg]
