"""A job: the streams and queries that run together, compiled into one graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from millstream.algebra.node import Node
from millstream.algebra.time import Span
from millstream.catalog import Stream
from millstream.engine.clock import Clock
from millstream.engine.outputs import COMPLETE, Query
from millstream.engine.plan_cache import PlanCache
from millstream.plan.alternatives import Chooser
from millstream.plan.graph import Graph
from millstream.plan.kept import kept_text, logical, parts_of
from millstream.plan.statistics import Statistics
from millstream.plan.strategy import carried_out, chosen, distributed, together
from millstream.plan.taggers import read_by_several, run_anyhow
from millstream.settings import NEVER_OPEN, Settings

Kept = tuple[Node, str]
"""The root of a query as it is bound, and when it joined."""


@dataclass(frozen=True)
class Job:
    """What runs: every stream that has a source, every registered query, and the settings.

    `changes` names the stored results whose changes somebody wants to see as well. `kept` are the
    distributed plans that are settled, since they have state; `chosen` are the plans of all roots
    after the rules, as it was decided when they came.
    """

    streams: Mapping[str, Stream]
    queries: tuple[Query, ...]
    settings: Settings
    changes: frozenset[str] = frozenset()
    drains: bool = False
    """Whether state of another strategy is taken over, with rows that it emitted open."""
    counted: frozenset[str] = frozenset()
    """The names of states in which duplicates are counted, or were when the job began."""
    kept: Mapping[Kept, Node] = field(default_factory=dict)
    chosen: Mapping[Node, Node] = field(default_factory=dict)
    plans: PlanCache = field(default_factory=PlanCache, compare=False, repr=False)

    @cached_property
    def declared(self) -> tuple[str, ...]:
        """The streams and tables that have been declared: none of ours, such as side streams."""
        return tuple(name for name, stream in self.streams.items() if stream.of is None)

    @cached_property
    def changelog_roots(self) -> dict[str, Node]:
        """For every query that emits its changes as they happen, the root that gives them."""
        return {
            q.name: self._plans[q.name, q.changes_root]
            for q in self.queries
            if self._emits_changes(q)
        }

    @cached_property
    def materialized_roots(self) -> dict[str, Node]:
        """For every stored result, the root that keeps it."""
        kept = [(q.name, root) for q in self.queries if (root := q.content_root) is not None]
        return {name: self._plans[name, root] for name, root in kept}

    def _emits_changes(self, query: Query) -> bool:
        return query.form != COMPLETE or query.name in self.changes

    @cached_property
    def _plans(self) -> dict[tuple[str, Node], Node]:
        """The plans of all roots, as they are carried out beside each other."""
        emitted = [(q, q.changes_root) for q in self.queries if self._emits_changes(q)]
        kept = [(q, root) for q in self.queries if (root := q.content_root) is not None]
        roots: list[tuple[Query, Node]] = [*emitted, *kept]
        plans = together([self._physical(q, root) for q, root in roots])
        return {(q.name, root): plan for (q, root), plan in zip(roots, plans)}

    @cached_property
    def graph(self) -> Graph:
        return Graph(
            tuple(
                dict.fromkeys((*self.changelog_roots.values(), *self.materialized_roots.values()))
            )
        )

    def after(self, left_by: str, drains: bool) -> Job:
        """The job, going on with state that was left by `Settings.ending`, this one or another."""
        changed = left_by != self.settings.ending and left_by not in NEVER_OPEN
        return replace(self, drains=drains or changed)

    def with_strategy(self, strategy: str, counted: frozenset[str], holds_open: bool) -> Job:
        """The job under a strategy, this or another, going on with the state of this one."""
        settings = replace(self.settings, strategy=strategy)
        job = replace(self, settings=settings, counted=counted, drains=False)
        return job.after(self.settings.ending, self.drains) if holds_open else job

    def roots_of(self, name: str) -> tuple[Node, ...]:
        """The plans of a query: of its stored result, and of the changes it emits."""
        return tuple(
            roots[name]
            for roots in (self.materialized_roots, self.changelog_roots)
            if name in roots
        )

    def without_sharing(self, names: Set[str]) -> Job:
        """The job with these queries computed by themselves."""
        alone = {
            q.name: replace(q, shared=None)
            for q in self.queries
            if q.name in names and q.shared is not None
        }
        if not alone:
            return self
        roots = {root for query in alone.values() for root in query.roots}
        return replace(
            self,
            queries=tuple(alone.get(q.name, q) for q in self.queries),
            chosen={root: plan for root, plan in self.chosen.items() if root not in roots},
        )

    @cached_property
    def by_name(self) -> dict[str, Query]:
        """The queries by their names."""
        return {q.name: q for q in self.queries}

    def query(self, name: str) -> Query:
        return self.by_name[name]

    def advance(self, clock: Clock, headers: list) -> Clock:
        return clock.advance(headers, self.streams, self.graph.watermark_groups)

    def spans(self, before: Clock, after: Clock) -> dict[Node, Span]:
        """For every node, the instants that the batch adds."""
        sources, found = self.graph.sources, dict[tuple[frozenset[str], tuple[str, ...]], Span]()
        spans = dict[Node, Span]()
        for node in self.graph.nodes:
            about = sources[node], node.since
            if about not in found:
                found[about] = after.span(before, *about)
            spans[node] = found[about]
        return spans

    def decided(self, kept: Mapping[Kept, Node], statistics: Statistics) -> Job:
        """The job with all its plans chosen: kept where they are known, else by the statistics.
        What runs already in a plan that is kept is planned as it runs."""
        running = frozenset[Node]().union(*map(parts_of, kept.values()))
        chosen_ones: dict[Node, Node] = {}
        for query in self.queries:
            for root in query.roots:
                known = kept.get((root, query.joined))
                chosen_ones[root] = (
                    self._chosen(query, root, Chooser(running, statistics))
                    if known is None
                    else logical(known)
                )
        return replace(self, kept=kept, chosen=chosen_ones)

    @cached_property
    def settled_plans(self) -> dict[str, dict[Node, Node]]:
        """For every query and every root it may have, the plan as it is distributed."""
        return {q.name: {root: self.distributed(q, root) for root in q.roots} for q in self.queries}

    @cached_property
    def plan_texts(self) -> dict[str, list[str]]:
        """These plans as a checkpoint keeps them."""
        return {
            name: [kept_text(plan) for plan in plans.values()]
            for name, plans in self.settled_plans.items()
        }

    @property
    def running(self) -> frozenset[Node]:
        """All parts of plans, as they are before they are distributed."""
        plans = (plan for plans in self.settled_plans.values() for plan in plans.values())
        return frozenset[Node]().union(*map(parts_of, plans))

    def kept_plans(self, names: Iterable[str]) -> dict[Kept, Node]:
        """The plans of these queries, for a job in which they stay."""
        return {
            (root, self.query(name).joined): plan
            for name in names
            for root, plan in self.settled_plans[name].items()
        }

    def plans_of(self, query: Query) -> dict[Node, Node]:
        """For every root that a query has, its plan, apart from those of others."""
        roots = ([query.changes_root] if self._emits_changes(query) else []) + (
            [] if query.content_root is None else [query.content_root]
        )
        return {root: self._physical(query, root) for root in roots}

    def distributed(self, query: Query, root: Node) -> Node:
        """The plan of a root as it is distributed: the one that is kept, or a new one."""
        at = root, query.joined
        if at not in self._distributed:
            plan = self.chosen.get(root) or self._chosen(query, root)
            self._distributed[at] = distributed(plan, query.joined)
        return self._distributed[at]

    def _chosen(self, query: Query, root: Node, chooser: Chooser | None = None) -> Node:
        """The plan of a root after the rules."""
        plan, views = query.carried_out(root, self.settings)
        return chosen(plan, self.settings, run_anyhow(views, self._shared), chooser)

    @cached_property
    def _shared(self) -> frozenset[Node]:
        return read_by_several(self.queries)

    @cached_property
    def _distributed(self) -> dict[Kept, Node]:
        return dict(self.kept)

    def _physical(self, query: Query, root: Node) -> Node:
        plan = self.distributed(query, root)
        settled = self.settings, self.drains, self.counted
        return self.plans.physical(plan, settled, lambda: carried_out(plan, *settled))
