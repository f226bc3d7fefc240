"""Where rows have to lie: exchanges put in where an operator needs rows together."""

from __future__ import annotations

from millstream.algebra.node import Node, Spread, map_inputs, walk
from millstream.operators import Exchange


def distribute(root: Node) -> Node:
    """The plan with an Exchange below every operator whose input does not lie as it needs.

    Every way from a source to the root crosses at least one, because that is where rows wait for
    the heartbeat.
    """
    placed, _ = _place(root)
    return placed if _crosses(placed) else Exchange(None, placed)


def spread_of(node: Node) -> Spread:
    """How the output of a distributed plan lies in buckets."""
    return node.spread(spread_of(node.inputs[0])) if node.inputs else None


def serves(given: Spread, need: Spread) -> bool:
    """Rows equal in the needed columns are together, since they are equal in the given ones too.

    >>> serves(("item",), ("item", "bidder")), serves(("item", "bidder"), ("item",))
    (True, False)
    """
    return need is None or (given is not None and set(given) <= set(need))


def _place(node: Node) -> tuple[Node, Spread]:
    if not node.inputs:
        return node, None
    child, given = _place(node.inputs[0])
    if not serves(given, node.needs):
        child, given = Exchange(node.needs, child), node.needs
    elif not node.stateless and not _crosses(child):
        child, given = Exchange(None, child), None
    return map_inputs(node, lambda _: child), node.spread(given)


def _crosses(node: Node) -> bool:
    return any(isinstance(n, Exchange) for n in walk(node))
