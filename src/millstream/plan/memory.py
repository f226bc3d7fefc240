"""State that grows for ever: which operator keeps it, and what would bound it."""

from __future__ import annotations

from functools import lru_cache

from millstream.algebra.node import Node, walk
from millstream.errors import Notice
from millstream.operators import (
    AntiJoin,
    Distinct,
    GroupBy,
    Intersect,
    Join,
    Minus,
    Now,
    Range,
    RangeSlide,
    Rows,
    Rstream,
    Scan,
    SemiJoin,
    SingleJoin,
    TableScan,
    TopK,
    Unbounded,
    UnionAll,
)
from millstream.operators.rows import EVER

WINDOW = "Give the stream a window, for example [Range 1 Hour]."


def growing(plan: Node, stored: bool) -> list[Notice]:
    """A notice for every operator whose state has no bound."""
    told = _told_elsewhere(plan)
    found = [notice for node in walk(plan) if node not in told for notice in _of(node)]
    if stored and plan.monotonic and is_endless(plan):
        found.append(Notice("the stored result grows with every row", WINDOW))
    return list(dict.fromkeys(found))


def _told_elsewhere(plan: Node) -> set[Node]:
    """The second part of an outer join, and what belongs to a condition with a subquery."""
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
    match node:
        case GroupBy() if is_endless(node.input):
            return _of_groups(node)
        case Join() | SingleJoin() | SemiJoin() | AntiJoin():
            return _of_join(node)
        case Distinct() if is_endless(node.input):
            return [Notice("the state of DISTINCT grows with every new value", WINDOW)]
        case Intersect() | Minus() if any(map(is_endless, node.inputs)):
            word = "INTERSECT" if isinstance(node, Intersect) else "EXCEPT"
            return [Notice(f"the state of {word} grows with every new value", WINDOW)]
        case TopK() if is_endless(node.input):
            return [Notice("the state of ORDER BY … LIMIT grows with every row", WINDOW)]
        case Rstream() if is_endless(node.input):
            return [Notice("the state of Rstream grows with every row", WINDOW)]
        case Rows(partition_by=keys, length=None) if keys:
            return [
                Notice(
                    f"the window keeps rows of every partition of {', '.join(keys)} for good",
                    "Add a Range to the window, so that silent partitions are dropped.",
                )
            ]
    return []


def _of_groups(node: GroupBy) -> list[Notice]:
    found = []
    if node.keys:
        keys = ", ".join(node.keys)
        found.append(Notice(f"the state of GROUP BY {keys} grows with every new group", WINDOW))
    ordered = [c for c in node.calls if c.aggregate.keeps_values]
    for name in dict.fromkeys(call.function for call in ordered):
        found.append(Notice(f"the state of {name} grows with every new value", WINDOW))
    return found


def _of_join(node: Join | SingleJoin | SemiJoin | AntiJoin) -> list[Notice]:
    """A notice for each side whose rows are kept for good."""
    what: dict[type[Node], str] = {
        Join: "the join",
        SingleJoin: "the subquery",
        SemiJoin: "the condition with a subquery",
        AntiJoin: "the condition with a subquery",
    }
    return [
        Notice(
            f"the state of {what[type(node)]} keeps every row of {streams}",
            f"Give {streams} a window, for example [Range 1 Hour].",
        )
        for side in node.inputs
        if is_endless(side) and (streams := _streams(side))
    ]


def _streams(node: Node) -> str:
    """The streams below whose rows never leave."""
    names = dict.fromkeys(
        scan.stream
        for window in walk(node)
        if isinstance(window, (Unbounded, RangeSlide, Rows)) and is_endless(window)
        for scan in walk(window)
        if isinstance(scan, Scan)
    )
    return " and ".join(f'"{name}"' for name in names)


@lru_cache(maxsize=10_000)
def is_endless(node: Node) -> bool:
    """True when a relation has no bound: rows of some input never leave by themselves."""
    match node:
        case Unbounded() | RangeSlide(length=None):
            return True
        case Rows(count=count, length=length):
            return count >= EVER and length is None
        case Now() | Range() | RangeSlide():
            return False
        case UnionAll() | Join():
            return any(map(is_endless, node.inputs))
        case Intersect():
            return all(map(is_endless, node.inputs))
        case GroupBy(keys=()) | TopK(limit=int()) | TableScan():
            return False
    return bool(node.inputs) and not node.is_stream and is_endless(node.inputs[0])
