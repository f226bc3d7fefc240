"""Rewrites, one file each, a law with its precondition. RULES is the optimizer."""

from __future__ import annotations

from millstream.algebra.node import Node, map_inputs
from millstream.rules.merge_filters import merge_filters
from millstream.rules.prune_columns import prune_columns
from millstream.rules.push_filter_below_window import push_filter_below_window
from millstream.rules.reduce_unbounded_to_now import reduce_unbounded_to_now
from millstream.rules.stream_now_as_elements import stream_now_as_elements

RULES = (
    reduce_unbounded_to_now,
    stream_now_as_elements,
    merge_filters,
    push_filter_below_window,
    prune_columns,
)


def optimize(node: Node) -> Node:
    """Apply the rules, inputs first, until none of them applies."""
    node = map_inputs(node, optimize)
    for rule in RULES:
        changed = rule(node)
        if changed is not None:
            return optimize(changed)
    return node
