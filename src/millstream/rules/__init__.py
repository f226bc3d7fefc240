"""Rewrites, one file each, a law with its precondition. RULES is the optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from millstream.algebra.node import Node, has_state, map_inputs, once, walk
from millstream.rules.aggregate_in_two_phases import aggregate_in_two_phases
from millstream.rules.bound_join_of_near_times import bound_join_of_near_times
from millstream.rules.coalesce_before_distinct import coalesce_before_distinct
from millstream.rules.flatten_domain import flatten_domain
from millstream.rules.fold_constants import fold_constants
from millstream.rules.join_by_expressions import join_by_expressions
from millstream.rules.limit_in_two_phases import limit_in_two_phases
from millstream.rules.match_by_expressions import match_by_expressions
from millstream.rules.match_distinct_values import match_distinct_values
from millstream.rules.merge_filters import merge_filters
from millstream.rules.merge_projects import merge_projects
from millstream.rules.merge_withins import merge_withins
from millstream.rules.order_joins import order_joins
from millstream.rules.prune_columns import prune_columns
from millstream.rules.pull_distinct_above_join import pull_distinct_above_join
from millstream.rules.pull_filter_above_window import pull_filter_above_window
from millstream.rules.pull_negation_above_join import pull_negation_above_join
from millstream.rules.pull_sync_above_join import pull_sync_above_join
from millstream.rules.pull_tagger_above_filter import pull_tagger_above_filter
from millstream.rules.push_condition_below_join import push_condition_below_join
from millstream.rules.push_distinct_below_join import push_distinct_below_join
from millstream.rules.push_distinct_below_negation import push_distinct_below_negation
from millstream.rules.push_filter_below_istream import push_filter_below_istream
from millstream.rules.push_filter_below_join import push_filter_below_join
from millstream.rules.push_filter_below_partitions import push_filter_below_partitions
from millstream.rules.push_filter_below_project import push_filter_below_project
from millstream.rules.push_filter_below_set_operation import push_filter_below_set_operation
from millstream.rules.push_filter_below_sync import push_filter_below_sync
from millstream.rules.push_filter_below_window import push_filter_below_window
from millstream.rules.push_filter_below_within import push_filter_below_within
from millstream.rules.push_filter_into_clock import push_filter_into_clock
from millstream.rules.push_filter_into_source import push_filter_into_source
from millstream.rules.push_negation_below_join import push_negation_below_join
from millstream.rules.push_sync_below_join import push_sync_below_join
from millstream.rules.push_within_below_join import push_within_below_join
from millstream.rules.push_within_below_project import push_within_below_project
from millstream.rules.range_of_condition import range_of_condition
from millstream.rules.read_clock_as_now import read_clock_as_now
from millstream.rules.reduce_unbounded_to_now import reduce_unbounded_to_now
from millstream.rules.remove_idle_distinct import remove_idle_distinct
from millstream.rules.remove_idle_project import remove_idle_project
from millstream.rules.remove_idle_sync import remove_idle_sync
from millstream.rules.remove_true_filter import remove_true_filter
from millstream.rules.slide_in_panes import slide_in_panes
from millstream.rules.stream_moments_without_points import stream_moments_without_points
from millstream.rules.stream_now_as_elements import stream_now_as_elements
from millstream.rules.whole import Whole, without_marks

Rule = Callable[[Node], Node | None]

FIRST: tuple[Rule, ...] = (stream_moments_without_points, flatten_domain)
"""Rules that look for equal parts of a plan, or take such parts away: they come before those that
make them different."""

MAIN: tuple[Rule, ...] = (
    fold_constants,
    remove_true_filter,
    merge_filters,
    reduce_unbounded_to_now,
    stream_now_as_elements,
    push_filter_below_window,
    push_filter_below_within,
    push_filter_below_sync,
    push_filter_into_clock,
    push_filter_below_project,
    push_filter_below_join,
    push_condition_below_join,
    push_filter_below_set_operation,
    push_filter_below_partitions,
    pull_tagger_above_filter,
    push_filter_below_istream,
    merge_withins,
    push_within_below_project,
    push_within_below_join,
    range_of_condition,
    read_clock_as_now,
    match_by_expressions,
    match_distinct_values,
    remove_idle_distinct,
    remove_idle_sync,
    order_joins,
    remove_idle_project,
    merge_projects,
    prune_columns,
)

COSTED: tuple[Rule, ...] = (
    pull_negation_above_join,
    push_negation_below_join,
    push_distinct_below_join,
    pull_distinct_above_join,
    push_distinct_below_negation,
    pull_sync_above_join,
    push_sync_below_join,
)
"""Laws that pay in one plan and cost in another: whoever knows what plans cost applies them."""

KEYED: tuple[Rule, ...] = (join_by_expressions,)
"""Rules that put projections above joins: they come when joins are in order, NEAT after them."""

NEAT: tuple[Rule, ...] = (remove_idle_project, merge_projects, prune_columns)

LAST: tuple[Rule, ...] = (
    bound_join_of_near_times,
    coalesce_before_distinct,
    aggregate_in_two_phases,
    limit_in_two_phases,
    slide_in_panes,
    push_filter_into_source,
)
"""Rules that add a step where rows are read: they come when it is settled what is read."""

RULES = (*FIRST, *MAIN, *COSTED, *KEYED, *LAST)

OTHER_WAY: tuple[Rule, ...] = (pull_filter_above_window,)
"""Laws that are used in the direction in which RULES do not go."""


Choose = Callable[[Node, Node, "Optimizer"], Node]
"""From a part of a plan, and what the rules made of it, to what shall stand there."""


def optimize(root: Node, whole: Iterable[Node] = (), choose: Choose | None = None) -> Node:
    """Apply the rules, inputs first, until none of them applies.

    Parts that the plan reads twice, and those in `whole`, are rewritten by themselves only: others
    read them too, and what is equal is computed once. So a rule never puts a second copy of a join
    or a group beside the first, to save one of them a column or a few rows.
    Every rule makes a plan smaller, moves a filter down, or lowers a cost; so this comes to an end.
    Each such part, and the rest of the plan, is then handed to `choose`, which may rewrite it.
    """
    root = _everywhere(root, FIRST)
    optimizer = Optimizer(frozenset(whole), frozenset(_read_twice(root)), choose)
    return optimizer.finished(optimizer.chosen(root, optimizer.optimized(root)))


@dataclass
class Optimizer:
    """Rewrites equal parts once. What runs anyhow is looked at as it is; what a plan only reads
    twice is computed once where it has state."""

    anyhow: frozenset[Node]
    twice: frozenset[Node] = frozenset()
    choose: Choose | None = None
    known: dict[Node, Node] = field(default_factory=dict)

    def optimized(self, node: Node) -> Node:
        """The plan after MAIN; parts that others read as well have a mark."""
        if isinstance(node, Whole):
            return node
        if node in self.known:
            return self.known[node]
        result = map_inputs(node, self.optimized)
        for rule in MAIN:
            changed = rule(result)
            if changed is not None:
                result = self.optimized(changed)
                break
        if self._is_whole(node, result):
            result = Whole(self.chosen(node, result))
        self.known[node] = result
        return result

    def _is_whole(self, node: Node, result: Node) -> bool:
        if isinstance(result, Whole):
            return False
        return node in self.anyhow or (node in self.twice and has_state(result))

    def chosen(self, part: Node, result: Node) -> Node:
        if self.choose is None or isinstance(result, Whole):
            return result
        return self.choose(part, result, self)

    def finished(self, node: Node) -> Node:
        """The plan after KEYED and LAST, without marks."""
        plain = without_marks(node)
        keyed = _everywhere(plain, KEYED)
        return _everywhere(plain if keyed == plain else _neat(keyed), LAST)


def _everywhere(root: Node, rules: tuple[Rule, ...]) -> Node:
    """The plan with rules applied wherever they can be, above before below."""

    def visit(node: Node) -> Node:
        for rule in rules:
            while (changed := rule(node)) is not None:
                node = changed
        return map_inputs(node, visited)

    visited = once(visit)
    return visited(root)


def _neat(root: Node) -> Node:
    """The plan with projections where they belong, inputs first."""

    def visit(node: Node) -> Node:
        node = map_inputs(node, visited)
        for rule in NEAT:
            if (changed := rule(node)) is not None:
                return visited(changed)
        return node

    visited = once(visit)
    return visited(root)


def _read_twice(root: Node) -> list[Node]:
    """The parts of a plan that stand below several others, or twice below one."""
    readers: dict[Node, int] = {}
    for node in walk(root):
        for child in node.inputs:
            readers[child] = readers.get(child, 0) + 1
    return [node for node, count in readers.items() if count > 1]
