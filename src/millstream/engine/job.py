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
from millstream.plan.alternatives import Choices, Chooser
from millstream.plan.facts import Facts
from millstream.plan.graph import Graph
from millstream.plan.strategy import NEGATIVE, joined_at, physical
from millstream.settings import Settings


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
    """Whether state of the strategy `negative` is taken over, with rows that it gave out open."""
    choices: Choices = field(default_factory=dict)

    @cached_property
    def telling(self) -> dict[str, Node]:
        """For every query that tells its changes as they happen, the root that gives them."""
        return {
            q.name: self._physical(q, q.changes_root)
            for q in self.queries
            if q.form != COMPLETE or q.name in self.changes
        }

    @cached_property
    def keeping(self) -> dict[str, Node]:
        """For every stored result, the root that keeps it."""
        return {
            q.name: self._physical(q, q.content_root)
            for q in self.queries
            if q.content_root is not None
        }

    @cached_property
    def graph(self) -> Graph:
        return Graph(tuple(dict.fromkeys((*self.telling.values(), *self.keeping.values()))))

    def after(self, strategy: str, drains: bool) -> Job:
        """The job, going on with state that another strategy may have left."""
        left_open = drains or strategy == NEGATIVE
        return replace(self, drains=left_open and self.settings.strategy != NEGATIVE)

    def with_strategy(self, strategy: str | None) -> Job:
        """The job under another strategy, going on with the state of this one."""
        if strategy is None:
            return self
        settings = replace(self.settings, strategy=strategy)
        return replace(self, settings=settings).after(self.settings.strategy, self.drains)

    def roots_of(self, name: str) -> tuple[Node, ...]:
        """The plans of a query: of what it keeps, and of what it tells."""
        return tuple(roots[name] for roots in (self.keeping, self.telling) if name in roots)

    def query(self, name: str) -> Query:
        return next(q for q in self.queries if q.name == name)

    def advance(self, clock: Clock, headers: list) -> Clock:
        return clock.advance(headers, self.streams, self.graph.companions)

    def spans(self, before: Clock, after: Clock) -> dict[Node, Span]:
        """For every node, the instants that the batch adds."""
        sources = self.graph.sources
        return {n: after.span(before, sources[n], n.since) for n in self.graph.nodes}

    def decided(self, known: Choices, facts: Facts) -> Job:
        """The job with all its plans chosen: as before where that is known, else by the facts."""
        chooser = Chooser(known, facts)
        for query in self.queries if self.settings.rules == "on" else ():
            for root in (query.changes_root, query.content_root):
                if root is not None:
                    chooser.optimized(root, query.views)
        return replace(self, choices=chooser.made)

    def _physical(self, query: Query, root: Node) -> Node:
        chooser = Chooser(self.choices)
        plan = physical(root, self.settings, query.views, self.drains, chooser)
        return joined_at(plan, query.joined) if query.joined else plan
