"""A job: the streams and queries that run together, compiled into one graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from millstream.algebra.node import Node
from millstream.algebra.time import Span
from millstream.catalog import Stream
from millstream.engine.clock import Clock
from millstream.engine.outputs import COMPLETE, Query
from millstream.engine.plan_cache import PlanCache
from millstream.plan.alternatives import Choices, Chooser, Steps
from millstream.plan.graph import Graph
from millstream.plan.statistics import Statistics
from millstream.plan.strategy import physical, together
from millstream.settings import NEVER_OPEN, Settings


@dataclass(frozen=True)
class Job:
    """What runs: every stream that has a source, every registered query, and the settings.

    `changes` names the stored results whose changes somebody wants to see as well; `choices` are
    the steps by which plans were chosen, for those for which that is settled.
    """

    streams: Mapping[str, Stream]
    queries: tuple[Query, ...]
    settings: Settings
    changes: frozenset[str] = frozenset()
    drains: bool = False
    """Whether state of another strategy is taken over, with rows that it gave out open."""
    counted: frozenset[str] = frozenset()
    """The names of states in which duplicates are counted, or were when the job began."""
    choices: Choices = field(default_factory=dict)
    plans: PlanCache = field(default_factory=PlanCache, compare=False, repr=False)

    @cached_property
    def changelog_roots(self) -> dict[str, Node]:
        """For every query that tells its changes as they happen, the root that gives them."""
        return {q.name: self._plans[q.name, q.changes_root] for q in self.queries if self._tells(q)}

    @cached_property
    def materialized_roots(self) -> dict[str, Node]:
        """For every stored result, the root that keeps it."""
        kept = [(q.name, root) for q in self.queries if (root := q.content_root) is not None]
        return {name: self._plans[name, root] for name, root in kept}

    def _tells(self, query: Query) -> bool:
        return query.form != COMPLETE or query.name in self.changes

    @cached_property
    def _plans(self) -> dict[tuple[str, Node], Node]:
        """The plans of all roots, as they are carried out beside each other."""
        told = [(q, q.changes_root) for q in self.queries if self._tells(q)]
        kept = [(q, root) for q in self.queries if (root := q.content_root) is not None]
        roots: list[tuple[Query, Node]] = [*told, *kept]
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
        """The plans of a query: of what it keeps, and of what it tells."""
        return tuple(
            roots[name]
            for roots in (self.materialized_roots, self.changelog_roots)
            if name in roots
        )

    def query(self, name: str) -> Query:
        return next(q for q in self.queries if q.name == name)

    def advance(self, clock: Clock, headers: list) -> Clock:
        return clock.advance(headers, self.streams, self.graph.watermark_groups)

    def spans(self, before: Clock, after: Clock) -> dict[Node, Span]:
        """For every node, the instants that the batch adds."""
        sources = self.graph.sources
        return {n: after.span(before, sources[n], n.since) for n in self.graph.nodes}

    def decided(self, known: Choices, statistics: Statistics) -> Job:
        """The job with all its plans chosen: as before where that is known, else by the facts."""
        made: dict[str, Steps] = {}
        for query in self.queries if self.settings.rules == "on" else ():
            for root in (query.changes_root, query.content_root):
                if root is not None:
                    chooser = Chooser(known, statistics)
                    made |= self.plans.decided((root, query.views, "on"), chooser)
        return replace(self, choices=made)

    @property
    def chosen(self) -> Choices:
        """How the parts of all plans are made: as was decided, or as they were made."""
        found: dict[str, Steps] = {}
        for of, steps in self.plans.steps.items():
            found |= steps if of[2] == "on" else {}
        return {**found, **self.choices}

    def plans_of(self, query: Query) -> dict[Node, Node]:
        """For every root that a query has, its plan, apart from those of others."""
        roots = ([query.changes_root] if self._tells(query) else []) + (
            [] if query.content_root is None else [query.content_root]
        )
        return {root: self._physical(query, root) for root in roots}

    def _physical(self, query: Query, root: Node) -> Node:
        settings, views, joined = self.settings, query.views, query.joined
        settled = settings, self.drains, joined, self.counted
        return self.plans.physical(
            (root, views, settings.rules),
            settled,
            self.choices,
            lambda chooser: physical(
                root, settings, views, self.drains, chooser, joined, self.counted
            ),
        )
