"""Where rows have to lie: exchanges put in where an operator needs rows together."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

from millstream.algebra.node import (
    BROADCAST,
    Distribution,
    Node,
    home_of,
    map_inputs,
    one_bucket,
    walk,
    with_inputs,
)
from millstream.operators import Exchange
from millstream.plan.levels import level_of
from millstream.plan.skew_splits import with_skew_splits

Placed = tuple[Node, Distribution]
FEW = 1_000
"""So many rows, or different values, may be kept in every bucket."""


def distribute(root: Node) -> Node:
    """The plan with an Exchange below every operator whose input does not lie as it needs.

    Every way from a source to the root crosses at least one, because that is where rows wait for
    the heartbeat.
    """
    placed, _ = _place(root)
    return with_skew_splits(placed) if _crosses(placed) else Exchange(None, placed)


def serves(given: Distribution, need: Distribution) -> bool:
    """Rows equal in the needed columns are together, since they are equal in the given ones too.

    >>> serves(("item",), ("item", "bidder")), serves(("item", "bidder"), ("item",))
    (True, False)
    """
    if need is None or home_of(given, 1) is not None:
        return True
    return given is not None and set(given) <= set(need)


def is_small(node: Node) -> bool:
    """True when a relation never has more than a few rows, whatever comes."""
    return node.row_limit is not None and node.row_limit <= FEW


@lru_cache(maxsize=10_000)
def floats(node: Node) -> bool:
    """True when a node can be computed on any level: there is no state down to the exchanges."""
    if isinstance(node, Exchange):
        return True
    return node.stateless and bool(node.inputs) and all(map(floats, node.inputs))


def has_few_values(node: Node) -> bool:
    """True when a relation has never more than a few different rows, however many there are."""
    return node.value_limit is not None and node.value_limit <= FEW


@lru_cache(maxsize=10_000)
def _place(node: Node, wish: Distribution = None) -> Placed:
    """The node with exchanges below it; the wish is how what reads it would like its rows to lie,
    for an input that has to be sent anyhow and may lie in any way."""
    match [_place(child, _of(child, by)) for child, by in zip(node.inputs, _wishes(node, wish))]:
        case []:
            return node, None
        case [only]:
            inputs = [_below(node, only, wish)]
        case [left, right]:
            inputs = _level(node, *_meet(node, left, right), wish)
        case _:
            raise TypeError(f"{type(node).__name__} has more than two inputs")
    names = [f.name for f in fields(node) if isinstance(getattr(node, f.name), Node)]
    placed = with_inputs(node, {name: child for name, (child, _) in zip(names, inputs)})
    return placed, node.distribution(*(given for _, given in inputs))


def _wishes(node: Node, wish: Distribution) -> tuple[Distribution, ...]:
    """How a node would like its inputs to lie: so that rows meet, or as its own reader would."""
    if node.join_keys:
        return tuple(zip(*node.join_keys))
    if node.join_keys is not None:
        return wish, None
    return node.required_distribution or node.wish_below(wish), None


def _below(node: Node, placed: Placed, wish: Distribution) -> Placed:
    """The one input of a node, lying as it needs, or as its reader would like."""
    child, given = placed
    if not serves(given, node.required_distribution):
        return _exchanged(child, node.required_distribution)
    if not node.stateless and not _crosses(child):
        return _exchanged(child, _of(child, node.wish_below(wish)))
    return placed


def _of(child: Node, wish: Distribution) -> Distribution:
    """The wish, if it is one that a node's rows can fulfil: their columns may have other names."""
    return wish if wish and set(wish) <= set(child.schema.names) else None


def _meet(node: Node, left: Placed, right: Placed) -> tuple[Placed, Placed]:
    """Two inputs, lying so that rows that must meet do.

    A right side that stays small goes everywhere: the left need not move for it, and a key that
    most of its rows share does not put all work into one bucket.
    """
    pairs = node.join_keys
    if not serves(left[1], node.required_distribution):
        left = _exchanged(left[0], node.required_distribution)
    if pairs is None or (not pairs and _are_met(left[1], right[1])):
        return left, right
    if not pairs or (node.can_broadcast_right and is_small(node.inputs[1])):
        return left, _broadcast(right[0])
    mine, theirs = _meeting(pairs, left[1], right[1])
    return (
        left if left[1] == mine else _exchanged(left[0], mine),
        right if right[1] == theirs else _exchanged(right[0], theirs),
    )


def _are_met(left: Distribution, right: Distribution) -> bool:
    """True when every left row has all right rows beside it as they lie."""
    return right == BROADCAST or (home_of(left, 1) is not None and left == right)


def _broadcast(child: Node) -> Placed:
    """All rows in every bucket. Of a few different values each bucket takes out the copies itself:
    the rows need not go to one place first."""
    if child.removes_copies:
        (below,) = child.inputs
        if isinstance(below, Exchange) and has_few_values(below.input):
            sent = Exchange(BROADCAST, below.input)
            return map_inputs(child, lambda _: sent), BROADCAST
    return _exchanged(child, BROADCAST)


def _meeting(pairs: tuple[tuple[str, str], ...], left: Distribution, right: Distribution) -> tuple:
    """The spreads of both sides: by what one of them is spread by already, or by all pairs."""
    over, back = dict(pairs), {b: a for a, b in pairs}
    if left is not None and set(left) <= over.keys():
        return left, tuple(over[name] for name in left)
    if right is not None and set(right) <= back.keys():
        return tuple(back[name] for name in right), right
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def _level(node: Node, left: Placed, right: Placed, wish: Distribution) -> list[Placed]:
    """Both inputs within reach of one level: what cannot be computed there is sent there."""
    inputs = [left, right]
    if not node.stateless:
        wishes = _of(left[0], wish), None
        inputs = [p if _crosses(p[0]) else _exchanged(p[0], b) for p, b in zip(inputs, wishes)]
    top = max(level_of(child) for child, _ in inputs)
    return [p if level_of(p[0]) == top or floats(p[0]) else _exchanged(p[0], p[1]) for p in inputs]


def _exchanged(child: Node, by: Distribution) -> Placed:
    by = one_bucket(child.meaning) if by == () or home_of(by, 1) is not None else by
    return Exchange(by, child), by


def _crosses(node: Node) -> bool:
    return any(isinstance(n, Exchange) for n in walk(node))
