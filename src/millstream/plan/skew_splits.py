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
from millstream.operators import Exchange, SkewSplit, Stored, Tagged
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

    A result is stored as its changes are emitted, so that both rest on the same join.
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
    theirs = right.inputs[0] if right.removes_copies else right
    if not (_is_by_columns(left) and _is_by_columns(theirs)):
        return node
    free = []
    if _may_spread(left) and theirs.lifetime.transient:
        free.append(LEFT)
    both = node.can_broadcast_left and theirs is right
    if both and _may_spread(right) and left.lifetime.transient:
        free.append(RIGHT)
    if not free:
        return node
    described = " ".join((left.meaning, theirs.meaning, *free))
    name = f"m{hashlib.sha256(described.encode()).hexdigest()[:8]}"
    mine = SkewSplit(LEFT, name, tuple(free), left)
    other: Node = SkewSplit(RIGHT, name, tuple(free), theirs)
    if theirs is not right:
        split = other
        other = map_inputs(right, lambda _: split)
    return with_inputs(node, {"left": mine, "right": other})


def _is_by_columns(node: Node) -> bool:
    return (
        isinstance(node, Exchange)
        and node.by not in (None, BROADCAST)
        and home_of(node.by, 1) is None
    )


def _may_spread(exchange: Node) -> bool:
    """True when no row is retracted, under any strategy: rows come straight from a stream."""
    return level_of(exchange) == 1 and exchange.never_retracts
