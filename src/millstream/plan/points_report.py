"""At which instants every operator of a query changes, and at which it is full: EXPLAIN POINTS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from millstream.algebra.node import Node
from millstream.algebra.points import Points, TooMany
from millstream.algebra.time import Domain
from millstream.operators import (
    Instants,
    Istream,
    Sync,
    SyncAt,
    TableScan,
    Ticks,
    Unbounded,
    Within,
)
from millstream.plan.annotate import line_of, outline, shortened

LONGEST = 60
ANY = "any instant"
TITLES = ("operator", "changes at", "full at")

Clock = Points | Node
"""Points of the clock, or the stream of them."""


@dataclass(frozen=True)
class Moments:
    """The clocks at whose points an operator changes, or None if it can at any instant; and those
    at whose common points it reflects all that has come: other points are partial."""

    changes: frozenset[Clock] | None
    full: frozenset[Clock] = frozenset()


def moments_of(node: Node) -> Moments:
    """When the output of an operator changes, and when it is full."""
    below = [moments_of(child) for child in node.inputs if not isinstance(child, Instants)]
    full = frozenset[Clock]().union(*(known.full for known in below))
    clock: Clock
    match node:
        case Sync(points=points):
            clock = points
            return Moments(frozenset((clock,)), full | {clock})
        case SyncAt(right=right):
            return Moments(frozenset((right,)), full | {right})
        case TableScan() if node.is_static:
            return Moments(frozenset())
    if isinstance(node, Ticks):
        clock = node.points
        return Moments(frozenset((clock,)))
    moves = isinstance(node, Within) or (node.is_window and not isinstance(node, Unbounded))
    if moves or not below or any(known.changes is None for known in below):
        return Moments(None, full)
    return Moments(frozenset[Clock]().union(*(known.changes or () for known in below)), full)


def with_points(root: Node, names: Mapping[Node, str]) -> str:
    """The plan, with the points of every operator; `names` are those of streams of points."""
    rows = [TITLES]
    for depth, node in outline(root):
        moments = moments_of(node)
        domain = node.time_domain
        changes, full = ANY, ANY
        if moments.changes is not None:
            changes = _words(moments.changes, domain, names, Points.__or__, " or ") or "never"
        if moments.full:
            full = _words(moments.full, domain, names, Points.__and__, " and ")
        rows.append((shortened(line_of(node, depth), LONGEST), changes, full))
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)


def _words(
    clocks: frozenset[Clock],
    domain: Domain | None,
    names: Mapping[Node, str],
    combine: Callable[[Points, Points], Points],
    word: str,
) -> str:
    """Several clocks as one, as far as they are arithmetic."""
    computed = sorted((c for c in clocks if isinstance(c, Points)), key=repr)
    said = sorted(_name(clock, names) for clock in clocks if isinstance(clock, Node))
    if computed:
        try:
            said.insert(0, reduce(combine, computed).words(domain))
        except TooMany:
            said = [*(points.words(domain) for points in computed), *said]
    return word.join(said)


def _name(clock: Node, names: Mapping[Node, str]) -> str:
    """What a stream of points is called."""
    stream = clock.input if isinstance(clock, Instants) else clock
    relation = stream.input if isinstance(stream, Istream) else stream
    return names.get(stream) or names.get(relation) or "points of a stream"
