"""Rewrites, one file each, a law with its precondition. RULES is the optimizer."""

from __future__ import annotations

from collections.abc import Callable

from millstream.algebra.node import Node, map_inputs
from millstream.rules.fold_constants import fold_constants
from millstream.rules.merge_filters import merge_filters
from millstream.rules.merge_projects import merge_projects
from millstream.rules.order_joins import order_joins
from millstream.rules.prune_columns import prune_columns
from millstream.rules.pull_filter_above_window import pull_filter_above_window
from millstream.rules.push_condition_below_join import push_condition_below_join
from millstream.rules.push_filter_below_istream import push_filter_below_istream
from millstream.rules.push_filter_below_join import push_filter_below_join
from millstream.rules.push_filter_below_partitions import push_filter_below_partitions
from millstream.rules.push_filter_below_project import push_filter_below_project
from millstream.rules.push_filter_below_set_operation import push_filter_below_set_operation
from millstream.rules.push_filter_below_window import push_filter_below_window
from millstream.rules.reduce_unbounded_to_now import reduce_unbounded_to_now
from millstream.rules.remove_idle_distinct import remove_idle_distinct
from millstream.rules.remove_idle_project import remove_idle_project
from millstream.rules.remove_true_filter import remove_true_filter
from millstream.rules.stream_now_as_elements import stream_now_as_elements

Rule = Callable[[Node], Node | None]

RULES: tuple[Rule, ...] = (
    fold_constants,
    remove_true_filter,
    merge_filters,
    reduce_unbounded_to_now,
    stream_now_as_elements,
    push_filter_below_window,
    push_filter_below_project,
    push_filter_below_join,
    push_condition_below_join,
    push_filter_below_set_operation,
    push_filter_below_partitions,
    push_filter_below_istream,
    remove_idle_distinct,
    order_joins,
    remove_idle_project,
    merge_projects,
    prune_columns,
)

OTHER_WAY: tuple[Rule, ...] = (pull_filter_above_window,)
"""Laws that are used in the direction in which RULES do not go."""


def optimize(node: Node) -> Node:
    """Apply the rules, inputs first, until none of them applies.

    Every rule makes a plan smaller, moves a filter down, or lowers a cost; so this comes to an end.
    """
    return _optimized(node, {})


def _optimized(node: Node, known: dict[Node, Node]) -> Node:
    if node in known:
        return known[node]
    result = map_inputs(node, lambda child: _optimized(child, known))
    for rule in RULES:
        changed = rule(result)
        if changed is not None:
            result = _optimized(changed, known)
            break
    known[node] = result
    return result
