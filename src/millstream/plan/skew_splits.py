"""Skew splits: the joins whose hot keys many buckets may share."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from millstream.algebra.node import (
    BROADCAST,
    Node,
    home_of,
    map_inputs,
    once,
    one_bucket,
    with_inputs,
)
from millstream.operators import (
    AntiJoin,
    DeltaStar,
    Distinct,
    Exchange,
    Join,
    Now,
    Range,
    RangeSlide,
    SemiJoin,
    SingleJoin,
    SkewSplit,
    Stored,
    Tagged,
    UnionAll,
)
from millstream.operators.skew_split import LEFT, RIGHT
from millstream.plan.levels import distribution_of, level_of


def with_skew_splits(root: Node) -> Node:
    """A distributed plan in which joins may spread hot keys, where nobody relies on how their rows
    lie: who does saves an exchange, and a level, by it."""
    relied = _relied_on(root)

    def visit(node: Node) -> Node:
        own = map_inputs(node, visited)
        if isinstance(own, Exchange) and home_of(own.by, 1) is not None:
            own = replace(own, by=one_bucket(own.input.meaning))
        return own if node in relied else _with_skew_splits(own)

    visited = once(visit)
    return visited(root)


def _relied_on(root: Node) -> set[Node]:
    """The nodes that somebody reads who needs their rows to lie as they do.

    A result is stored as its changes are told, so that both rest on the same join.
    """
    seen: set[tuple[Node, bool]] = set()

    def visit(node: Node, relied: bool) -> None:
        relied = relied and distribution_of(node) is not None
        if (node, relied) in seen:
            return
        seen.add((node, relied))
        match node:
            case Exchange(input=below):
                visit(below, False)
            case Tagged(input=Exchange(input=below)) | Tagged(input=below) | Stored(input=below):
                visit(below, True)
            case _:
                together = relied or node.required_distribution is not None or _must_meet(node)
                for below in node.inputs:
                    visit(below, together)

    visit(root, False)
    return {node for node, relied in seen if relied}


def _must_meet(node: Node) -> bool:
    """True of two inputs whose rows meet where they lie; not when the right one is everywhere."""
    return node.join_keys is not None and distribution_of(node.inputs[1]) != BROADCAST


def _with_skew_splits(node: Node) -> Node:
    """A join with skew splits on both sides, if one of them may be spread."""
    if not node.can_broadcast_right:
        return node
    left, right = node.inputs
    theirs = right.input if isinstance(right, (Distinct, DeltaStar)) else right
    if not (_is_by_columns(left) and _is_by_columns(theirs)):
        return node
    free = []
    if _never_retracts(left) and _ends(theirs):
        free.append(LEFT)
    if isinstance(node, Join) and theirs is right and _never_retracts(right) and _ends(left):
        free.append(RIGHT)
    if not free:
        return node
    described = " ".join((left.meaning, theirs.meaning, *free))
    name = f"m{hashlib.sha256(described.encode()).hexdigest()[:8]}"
    mine = SkewSplit(LEFT, name, tuple(free), left)
    other: Node = SkewSplit(RIGHT, name, tuple(free), theirs)
    if theirs is not right:
        other = with_inputs(right, {"input": other})
    return with_inputs(node, {"left": mine, "right": other})


def _is_by_columns(node: Node) -> bool:
    return (
        isinstance(node, Exchange)
        and node.by not in (None, BROADCAST)
        and home_of(node.by, 1) is None
    )


def _never_retracts(exchange: Node) -> bool:
    """True when no row is taken back, under any strategy: rows come straight from a stream."""
    return level_of(exchange) == 1 and exchange.never_retracts


def _ends(node: Node) -> bool:
    """True when the ends of rows are known, where the strategy does not hide them."""
    match node:
        case Now() | Range() | RangeSlide(length=int()):
            return True
        case Join() | UnionAll():
            return (any if isinstance(node, Join) else all)(map(_ends, node.inputs))
        case Exchange() | Distinct() | DeltaStar() | SemiJoin() | AntiJoin() | SingleJoin():
            return _ends(node.inputs[0])
    return node.stateless and bool(node.inputs) and _ends(node.inputs[0])
