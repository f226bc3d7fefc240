"""The beginning of a query over synchronized relations: its first point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from millstream.algebra.node import Node, walk
from millstream.algebra.points import Points, TooMany
from millstream.bind.queries.beginnings import streams_of
from millstream.bind.relations.clock_stream import time_of
from millstream.operators import (
    Active,
    Dstream,
    GroupBy,
    Instants,
    Istream,
    LookupJoin,
    Project,
    Rstream,
    Scan,
    Sync,
    SyncAt,
    TableScan,
    Ticks,
    UnionAll,
    Within,
)

Clock = Points | Node
"""The points of a Sync, or the stream of those of a SyncAt."""


def from_first_point(plan: Node) -> Node:
    """The plan, empty before the first point of the relations it reads, if all are synchronized.

    A count over nothing, and the rows of a table, would be there from the first element on.
    Law: from its first point on nothing changes, since a relation that changes at points only is
    what it was at the last of them.
    """
    if isinstance(plan, Istream | Dstream | Rstream):
        below = from_first_point(plan.input)
        if isinstance(plan, Rstream) and plan.begins and below is not plan.input:
            plan = _begun(plan)
        return replace(plan, input=below)
    clocks = _clocks(plan)
    if not clocks or plan.is_stream or not any(_begins(node) for node in _above(plan)):
        return plan
    return _synchronized(plan, clocks)


def _begun(plan: Rstream) -> Rstream:
    """Rstream of a relation that begins at its first point, which is active by a table's rows."""
    clocks, rows = _clocks(plan.input), _first_rows(plan.input, plan.since)
    if not clocks or rows is None or not isinstance(plan.points, Active):
        return plan
    enter = Project((), _synchronized(rows, clocks))
    return replace(plan, begins=False, points=Active(UnionAll(plan.points.input, enter)))


def windows_within(sync: Sync | SyncAt) -> tuple[Node, ...]:
    """What makes instants active in a relation that is synchronized only to begin at its first
    point (`from_first_point`), which is no R(S, sync): the relation itself, and its table there."""
    relation = sync.inputs[0]
    if not _clocks(relation) or not any(_begins(node) for node in _above(relation)):
        return ()
    rows = _first_rows(relation, ())
    if rows is None:
        return (relation,)
    at_points = replace(sync, input=rows) if isinstance(sync, Sync) else replace(sync, left=rows)
    return relation, at_points


def _first_rows(relation: Node, since: tuple[str, ...]) -> Node | None:
    """A table above all that is synchronized whose rows are there from the beginning on."""
    for node in _above(relation):
        match node:
            case TableScan(table=table) | LookupJoin(table=table) if table.rows.num_rows:
                return TableScan(table, (), None, since or streams_of(relation))
    return None


def _clocks(plan: Node) -> list[Clock] | None:
    """The points at which a plan changes; None if it can change at any instant, as a window over
    a stream does."""
    found: dict[Clock, None] = {}
    for node in _above(plan):
        if node.is_stream or isinstance(node, Within):
            return None
        if isinstance(node, TableScan) and not node.is_static:
            return None
        for child in node.inputs:
            if isinstance(child, Sync | SyncAt):
                found[child.points if isinstance(child, Sync) else child.right] = None
    return list(found)


def _above(plan: Node) -> Iterator[Node]:
    """The operators above what is synchronized, each once."""
    seen, left = {plan}, [plan]
    while left:
        node = left.pop()
        if not isinstance(node, Sync | SyncAt):
            yield node
            new = [child for child in node.inputs if child not in seen]
            seen.update(new)
            left += new


def _begins(node: Node) -> bool:
    """Whether a node has rows from the beginning on, without any of its input."""
    return isinstance(node, TableScan) or (isinstance(node, GroupBy) and not node.keys)


def _synchronized(plan: Node, clocks: list[Clock]) -> Node:
    """The plan at the points of any of the clocks."""
    computed = [clock for clock in clocks if isinstance(clock, Points)]
    brought = [clock for clock in clocks if isinstance(clock, Node)]
    if not brought:
        try:
            return Sync(reduce(Points.__or__, computed), plan)
        except TooMany:
            pass
    scans = {node.stream: node for node in walk(plan) if isinstance(node, Scan)}
    time = reduce(UnionAll, [time_of(scan) for scan in scans.values()])
    ticks = [Instants(None, 1, Ticks(points, time)) for points in computed]
    return SyncAt(plan, reduce(UnionAll, [*brought, *ticks]))
