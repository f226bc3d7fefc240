"""State that grows for ever: which operator keeps it, and what would bound it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millstream.algebra.by_operator import entry_for
from millstream.algebra.node import Node, walk
from millstream.errors import Notice
from millstream.operators import (
    Active,
    AntiJoin,
    Begin,
    Coalesce,
    Copies,
    Dated,
    DeltaStar,
    Distinct,
    Dstream,
    Elements,
    Exchange,
    Feed,
    Fill,
    Filter,
    GroupBy,
    Hop,
    Instants,
    Intersect,
    Istream,
    Join,
    Lateral,
    LookupJoin,
    Match,
    Merge,
    Minus,
    Missed,
    NonRetroactiveJoin,
    Now,
    NowView,
    Over,
    Panes,
    Partial,
    PartialTopK,
    Project,
    Range,
    RangeSlide,
    Recomputed,
    Rematch,
    Retime,
    Retract,
    Rows,
    Rstream,
    Scan,
    SemiJoin,
    Session,
    SingleJoin,
    SkewSplit,
    Stamp,
    Stored,
    Sync,
    SyncAt,
    TableScan,
    Tagged,
    Tagger,
    Ticks,
    TopK,
    Unbounded,
    UnionAll,
    Within,
)
from millstream.rules import optimize

WINDOW = "Give the stream a window, for example [Range 1 Hour]."


def growing(plan: Node, stored: bool, views: Sequence[Node] = ()) -> list[Notice]:
    """A notice for every operator whose state has no bound, but for those in `views`: their authors
    were told when they wrote them. Conditions on the times of rows bound it where rules see it."""
    found = _growing(plan, stored, views)
    if not found or not any(isinstance(node, Stamp) for node in walk(plan)):
        return found
    left = _growing(optimize(plan, views), stored, ())
    return [notice for notice in found if notice in left]


def _growing(plan: Node, stored: bool, views: Iterable[Node]) -> list[Notice]:
    noticed = _noticed_elsewhere(plan).union(*map(walk, views))
    found = [notice for node in walk(plan) if node not in noticed for notice in _of(node)]
    if stored and plan.monotonic and not plan.lifetime.bounded:
        found.append(Notice("the stored result grows with every row", WINDOW))
    return list(dict.fromkeys(found))


def _noticed_elsewhere(plan: Node) -> set[Node]:
    """Operators that another operator's notice covers: the second part of an outer join, and what
    belongs to a condition with a subquery."""
    joined = {frozenset(n.inputs) for n in walk(plan) if isinstance(n, Join)}
    found: set[Node] = set()
    for node in walk(plan):
        match node:
            case AntiJoin() if frozenset(node.inputs) in joined:
                found.add(node)
            case SemiJoin(right=Distinct() as values) | AntiJoin(right=Distinct() as values):
                found.add(values)
    return found


def _of(node: Node) -> list[Notice]:
    return entry_for(node, GROWING, "GROWING of plan/memory.py")(node)


def _nothing(node: Node) -> list[Notice]:
    """What keeps no rows, or as many as the plan says."""
    return []


def _of_values(word: str) -> Callable[[Any], list[Notice]]:
    """An operator that keeps every different row of its inputs."""

    def notices(node: Node) -> list[Notice]:
        if all(side.lifetime.bounded for side in node.inputs):
            return []
        return [Notice(f"the state of {word} grows with every new value", WINDOW)]

    return notices


def _of_rows(word: str) -> Callable[[Any], list[Notice]]:
    """An operator that keeps every row of its input."""

    def notices(node: Node) -> list[Notice]:
        if node.inputs[0].lifetime.bounded:
            return []
        return [Notice(f"the state of {word} grows with every row", WINDOW)]

    return notices


def _of_partitions(node: Rows) -> list[Notice]:
    if not node.partition_by or node.length is not None:
        return []
    keys = ", ".join(node.partition_by)
    return [
        Notice(
            f"the window keeps rows of every partition of {keys} for good",
            "Add a Range to the window, so that silent partitions are dropped.",
        )
    ]


def _of_sessions(node: Session) -> list[Notice]:
    if not node.partition_by:
        return []
    keys = ", ".join(node.partition_by)
    return [
        Notice(
            f"the window keeps the last session of every partition of {keys} for good",
            "Partition by columns of which there are not ever more values.",
        )
    ]


def _of_frames(node: Over | Panes) -> list[Notice]:
    if not node.partition_by or node.frame.length is not None:
        return []
    keys = ", ".join(node.partition_by)
    what = "totals" if node.frame.unbounded else "rows"
    return [
        Notice(
            f"OVER keeps {what} of every partition of {keys} for good",
            "Write a frame by time, so that silent partitions are dropped: RANGE 1 HOUR PRECEDING.",
        )
    ]


def _of_instances(node: Feed) -> list[Notice]:
    """Routines keep an instance of every partition that has ever come."""
    found = dict.fromkeys((call.routine.name, call.partition_by) for call in node.calls)
    return [
        Notice(
            f'the state of aggregate "{name}" grows with every new {", ".join(keys)}',
            "Group or partition by columns of which there are not ever more values.",
        )
        for name, keys in found
        if keys
    ]


def _of_condition(node: SemiJoin) -> list[Notice]:
    """A condition with a subquery, or one that is tested at the ticks of the clock."""
    about = "on Now" if isinstance(node.right, NowView) else "with a subquery"
    return _of_sides(f"the condition {about}")(node)


def _of_groups(node: GroupBy) -> list[Notice]:
    if node.input.lifetime.bounded:
        return []
    found = []
    if node.keys:
        keys = ", ".join(node.keys)
        found.append(Notice(f"the state of GROUP BY {keys} grows with every new group", WINDOW))
    ordered = [c for c in node.calls if c.aggregate.keeps_values]
    for name in dict.fromkeys(call.function for call in ordered):
        found.append(Notice(f"the state of {name} grows with every new value", WINDOW))
    return found


def _of_sides(what: str) -> Callable[[Any], list[Notice]]:
    """An operator that keeps the rows of both sides: a notice for each that has no bound."""

    def notices(node: Node) -> list[Notice]:
        return [
            Notice(
                f"the state of {what} keeps every row of {streams}",
                f"Give {streams} a window, for example [Range 1 Hour].",
            )
            for side in node.inputs
            if not side.lifetime.bounded and (streams := _streams(side))
        ]

    return notices


def _streams(node: Node) -> str:
    """The streams below whose rows never leave."""
    names = dict.fromkeys(
        scan.stream
        for window in walk(node)
        if window.is_window and not window.lifetime.bounded
        for scan in walk(window)
        if isinstance(scan, Scan)
    )
    return " and ".join(f'"{name}"' for name in names)


GROWING: dict[type[Node], Callable[[Any], list[Notice]]] = {
    Scan: _nothing,
    Ticks: _nothing,
    Instants: _nothing,
    Stamp: _nothing,
    Retime: _nothing,
    Missed: _nothing,
    Fill: _nothing,
    Merge: _nothing,
    Now: _nothing,
    Range: _nothing,
    Unbounded: _nothing,
    RangeSlide: _nothing,
    Rows: _of_partitions,
    Hop: _nothing,
    Session: _of_sessions,
    Over: _of_frames,
    Match: _nothing,
    Panes: _of_frames,
    Sync: _nothing,
    NowView: _nothing,
    Within: _nothing,
    SyncAt: _nothing,
    Filter: _nothing,
    Project: _nothing,
    LookupJoin: _nothing,
    Lateral: _nothing,
    TableScan: _nothing,
    Tagger: _nothing,
    Copies: _nothing,
    Dated: _nothing,
    NonRetroactiveJoin: _nothing,
    Join: _of_sides("the join"),
    SingleJoin: _of_sides("the subquery"),
    SemiJoin: _of_condition,
    AntiJoin: _of_sides("the condition with a subquery"),
    UnionAll: _nothing,
    Intersect: _of_values("INTERSECT"),
    Minus: _of_values("EXCEPT"),
    Distinct: _of_values("DISTINCT"),
    DeltaStar: _of_values("DISTINCT"),
    Coalesce: _nothing,
    TopK: _of_rows("ORDER BY … LIMIT"),
    PartialTopK: _nothing,
    Partial: _nothing,
    GroupBy: _of_groups,
    Feed: _of_instances,
    Recomputed: _of_rows("the groups of aggregates of one's own"),
    Rematch: _of_rows("the pattern"),
    Istream: _nothing,
    Dstream: _nothing,
    Active: _nothing,
    Rstream: _of_rows("Rstream"),
    Elements: _nothing,
    Tagged: _nothing,
    Stored: _nothing,
    Exchange: _nothing,
    Retract: _nothing,
    SkewSplit: _nothing,
    Begin: _nothing,
}
"""For every operator, the notices about state of its own that has no bound."""
