"""Registered queries: how they get their names, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import islice

from millstream.algebra.node import Node, has_state, walk
from millstream.bind import Bound
from millstream.bind.relations.times import domain_of
from millstream.catalog import Catalog, Stream, TaggedStream
from millstream.engine.checkpoint import Commit, fingerprint
from millstream.engine.outputs import COMPLETE, STREAM, STREAMED, Query
from millstream.operators import Scan, StaticTable
from millstream.plan.memory import growing
from millstream.plan.tables import streams_of_time, with_time
from millstream.sharing.feeding import Feeding

OURS = re.compile(r"q[0-9]+")
"""What we call a query that was given no name."""


class Life(StrEnum):
    """Where a query is in its life; it begins as registered and ends as dropped."""

    REGISTERED = "registered"
    RUNNING = "running"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(frozen=True, eq=False)
class Registered:
    """A query, and what a job needs to know of it: found out once for all changes of the job.

    `statement` is the text that has registered it; `looked_at` says whether it is known by now if
    it is computed from others.
    """

    query: Query
    statement: str = ""
    looked_at: bool = False

    @cached_property
    def timed(self) -> Query:
        """The query with an input for every table that never changes."""
        return timed(self.query, {})

    @cached_property
    def streams_of_time(self) -> dict[str, Stream]:
        return streams_of_time(self.timed.plan)

    @cached_property
    def scans(self) -> frozenset[str]:
        """The names of the streams, and of their late and bad rows, that the plan reads."""
        return frozenset(n.stream for n in walk(self.query.plan) if isinstance(n, Scan))


def timed(query: Query, begun: Mapping[str, StaticTable]) -> Query:
    """A query with an input for every table that never changes; `begun` is what tables begin with
    instead of what they were bound with."""
    plan = with_time(query.plan, query.domain, begun)
    if plan is query.plan:
        return query
    shared = query.shared
    if shared is not None:
        shared = shared.mapped(lambda part: with_time(part, query.domain, begun))
    return replace(query, plan=plan, shared=shared)


@dataclass(frozen=True)
class KnownNames:
    """The names that a checkpoint has: of bare queries by what they compute, and all together."""

    bare: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()

    @staticmethod
    def on(commit: Commit | None) -> KnownNames:
        if commit is None:
            return KnownNames()
        bare = commit.bare
        if bare is None:  # an older commit does not say which names were ours
            bare = [name for name in commit.queries if OURS.fullmatch(name)]
        found: dict[str, tuple[str, ...]] = {}
        for name in bare:
            mark = commit.queries[name]
            found[mark] = (*found.get(mark, ()), name)
        return KnownNames(found, frozenset(n.lower() for n in (*commit.queries, *commit.gone)))

    def of(self, query: Query) -> tuple[str, ...]:
        """The names under which the checkpoint has bare queries that compute the same."""
        return self.bare.get(fingerprint(query), ())


@dataclass
class Registry:
    """The queries that are registered, found by their names in any case, in the order of scripts.

    `bare` is the number of the last query that was given a name of ours, `known` the names that a
    checkpoint has. `feeding` is what others can be computed from, as far as it is known by now: it
    grows with copies, and is made anew where a query was dropped, replaced or moved.
    """

    by_name: dict[str, Registered] = field(default_factory=dict)
    bare: int = 0
    known: KnownNames = field(default_factory=KnownNames)
    feeding: Feeding = field(default_factory=Feeding)

    def copy(self) -> Registry:
        return Registry(dict(self.by_name), self.bare, self.known, self.feeding)

    def __iter__(self) -> Iterator[Query]:
        return (one.query for one in self.by_name.values())

    def find(self, name: str) -> Query | None:
        one = self.by_name.get(name.lower())
        return None if one is None else one.query

    def add(self, query: Query, statement: str) -> None:
        """Hold a query; one of that name is replaced, and the new one has its place."""
        if query.name.lower() in self.by_name:
            self.feeding = Feeding()
        self.by_name[query.name.lower()] = Registered(query, statement)

    def drop(self, name: str) -> Query | None:
        self.feeding = Feeding()
        one = self.by_name.pop(name.lower(), None)
        return None if one is None else one.query

    def name_bare(self, query: Query, catalog: Catalog) -> Query:
        """The query under a name of ours: the one by which the checkpoint knows what it computes,
        or else q1, q2, …, without the names that the script or the checkpoint has given."""

        def is_free(name: str) -> bool:
            return name not in catalog.entries and name not in self.by_name

        for name in self.known.of(Registered(query).timed):
            if is_free(name):
                return replace(query, name=name, bare=True)
        while True:
            self.bare += 1
            name = f"q{self.bare}"
            if is_free(name) and name not in self.known.taken:
                return replace(query, name=name, bare=True)

    def put_in_order(self, queries: Sequence[Query]) -> None:
        """Move queries to the end, in this order."""
        last = islice(reversed(self.by_name.values()), len(queries))
        if all(one.query is query for one, query in zip(last, reversed(queries))):
            return
        self.feeding = Feeding()
        for query in queries:
            if self.find(query.name) is query:
                self.by_name[query.name.lower()] = self.by_name.pop(query.name.lower())


def query_of(name: str, bound: Bound, text: str, catalog: Catalog) -> Query:
    """A bound query with its form, what its author should know, and the views it is made of."""
    form = form_of(bound)
    views = _views_in(bound.plan, catalog)
    notices = (*bound.notices, *growing(bound.plan, form == COMPLETE, views))
    return Query(name, bound.plan, form, domain_of(bound.plan), text, notices, views)


def form_of(bound: Bound) -> str:
    if bound.plan.is_stream:
        return STREAM
    return STREAMED if bound.form == "streamed" else COMPLETE


def _views_in(plan: Node, catalog: Catalog) -> tuple[Node, ...]:
    """The plans of views that this one is made of, those that are made of others after these. A
    tagged stream that keeps nothing is none: it has no result, so nobody computes it but those who
    read it."""
    return tuple(part for part in walk(plan) if part != plan and _is_view(part, catalog))


def _is_view(part: Node, catalog: Catalog) -> bool:
    entries = (catalog.entries[name] for name in catalog.views_of(part))
    return any(has_state(part) or not isinstance(entry, TaggedStream) for entry in entries)
