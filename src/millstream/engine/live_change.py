"""Live change: a job goes on with other queries, and those that join find what runs already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import pyarrow as pa

from millstream.algebra.node import Node, walk
from millstream.engine.beginning import Beginning, Past, beginning_of, first_right
from millstream.engine.checkpoint import fingerprints, going_on
from millstream.engine.job import Job
from millstream.engine.opening import Opening, Running
from millstream.engine.outputs import Query, stamp_type
from millstream.errors import Notice
from millstream.operators import Exchange
from millstream.plan.graph import Graph
from millstream.plan.statistics import Statistics
from millstream.plan.strategy import BEGINS


@dataclass(frozen=True)
class Joined:
    """A job as it goes on, with what opens in its next batch: `beginnings` of the queries for which
    rows are read again, and what the authors of others should know (`said`, by query)."""

    job: Job
    opening: Opening = field(default_factory=Opening)
    beginnings: Mapping[str, Beginning] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the authors of queries should know that begin without the rows that came before."""
        return tuple(map(self.notice, sorted(self.said)))

    def notice(self, name: str) -> Notice:
        return Notice(f'query "{name}" joins a running job: {self.said[name]}')


def changed(
    job: Job,
    now: Job,
    ran: Job,
    batch: int,
    statistics: Statistics,
    counted: frozenset[str],
    past: Past,
) -> Joined:
    """Another job in place of the one that was to run next (`now`), after a batch of `ran`.

    Law: queries that stay keep their plans and their state, and nothing of them is planned again.
    """
    marks, known = fingerprints(job), fingerprints(now)
    same = {q.name: q.joined for q in now.queries if known[q.name] == marks.get(q.name)}
    stays = job.settings.ending == now.settings.ending
    kept = ran.kept_plans(q.name for q in ran.queries) | now.kept_plans(same)
    job = replace(
        going_on(job, same, batch, now.settings.rules),
        counted=now.counted if stays else counted,
        plans=now.plans.only(frozenset(kept.values())),
    )
    job = job.after(now.settings.ending, now.drains).decided(kept, statistics)
    joined = opened(job, ran, batch, past)
    known_as = {q.name: q.joined for q in joined.job.queries}
    told = {name for name, mark in same.items() if known_as.get(name) == mark}
    return replace(joined, said={n: text for n, text in joined.said.items() if n not in told})


def opened(job: Job, ran: Job, batch: int, past: Past) -> Joined:
    """The job after a batch of `ran`, whose queries that have not run yet begin with their content:
    out of what runs, or out of rows that are read again. Where neither can be had, they begin with
    the rows that are read from now on."""
    marks, known = fingerprints(job), fingerprints(ran)
    new = [q for q in job.queries if q.name in past.gone or known.get(q.name) != marks[q.name]]
    if not new:
        return Joined(job)
    job = job.without_sharing({q.name for q in new if not _may_share(q, ran)})
    new = [job.query(q.name) for q in new]
    running = _running(job, ran, {q.name for q in new})
    roots: dict[str, Iterable[Node]] = {}
    queries: dict[str, Query] = {}
    beginnings: dict[str, Beginning] = {}
    said: dict[str, str] = {}
    for query in new:
        found = _sharing(query, job, ran, running)
        if found is None and query.shared is not None:
            job = job.without_sharing({query.name})
            query = job.query(query.name)
            found = _sharing(query, job, ran, running)
        if found is not None:
            queries[query.name], roots[query.name] = found
            continue
        queries[query.name] = fresh = replace(query, joined=f"after batch {batch}")
        plans = job.plans_of(fresh).values()
        beginning = beginning_of(plans, job.streams, past)
        if beginning is not None:
            mark = f"{fresh.joined} {beginning.mark}"
            queries[query.name] = again = replace(query, joined=mark)
            roots[query.name] = job.plans_of(again).values()
            beginnings[query.name] = beginning
            if beginning.after is not None:
                said[query.name] = f"it counts the rows after {_shown(beginning.after, query)}"
        elif (first := first_right(plans, past)) is not None:
            begins = first - 1 if query.plan.is_stream else first
            queries[query.name] = replace(query, joined=f"{fresh.joined}{BEGINS}{begins}")
            said[query.name] = f"its answers begin at {_shown(first, query)}"
        elif any(_keeps(plan) for plan in plans):
            said[query.name] = "it begins with the rows that are read from now on"
    joined = replace(job, queries=tuple(queries.get(q.name, q) for q in job.queries))
    opening = Opening.of(roots, running) if roots else Opening()
    return Joined(joined, opening, beginnings, said)


def _shown(instant: int, query: Query) -> str:
    """An instant as results show it."""
    stamp = pa.scalar(instant).cast(stamp_type(query.domain)).as_py()
    return stamp.isoformat(timespec="microseconds") if isinstance(stamp, datetime) else str(stamp)


def _running(job: Job, ran: Job, new: set[str]) -> Running:
    """The nodes that have state: of queries that stay, and of those that ran until now."""
    staying = [q for q in job.queries if q.name not in new]
    plans = [plan for query in staying for plan in job.plans_of(query).values()]
    alike = job.settings.ending == ran.settings.ending and job.drains == ran.drains
    return Running(frozenset((*Graph(tuple(plans)).nodes, *(ran.graph.nodes if alike else ()))))


def _sharing(
    query: Query, job: Job, ran: Job, running: Running
) -> tuple[Query, tuple[Node, ...]] | None:
    """The query as it shares state with those that run, and its plans; None when it cannot begin
    with its content.

    All its streams must have one heartbeat already: content is of one instant.
    """
    mark = _mark(query, ran)
    if mark is None:
        return None
    groups = ran.graph.watermark_groups
    shared = replace(query, joined=mark)
    plans = tuple(job.plans_of(shared).values())
    graph = Graph(plans)
    streams = frozenset[str]().union(*(graph.sources[plan] for plan in plans))
    together = streams and streams <= groups.get(min(streams), frozenset())
    return (shared, plans) if together and all(map(running.can_open, plans)) else None


def _may_share(query: Query, ran: Job) -> bool:
    """Whether a query may be computed from others that run: from those alone that have been there
    from the beginning, or are as new as it is. Others may have begun with a part of the rows."""
    if query.shared is None:
        return True
    joined = {q.name: q.joined for q in ran.queries}
    return not any(joined.get(name) for name in query.shared.over) and not _mark(query, ran)


def _mark(query: Query, ran: Job) -> str | None:
    """When that which a query reads joined the job: its views, or else the streams, which have been
    there from the beginning. None when its views joined at different times.

    A query that joined late and fresh holds a part of the rows: who does not read it by its name
    must not share its state.
    """
    within = {part for view in query.views for part in walk(view) if part != view}
    outer = [view for view in query.views if view not in within]
    marks = {q.joined for q in ran.queries if q.plan in outer} or {""}
    return marks.pop() if len(marks) == 1 else None


def _keeps(plan: Node) -> bool:
    """Whether what a plan gives depends on rows that came before."""
    return any(
        not node.stateless and not isinstance(node, Exchange) for node in Graph((plan,)).nodes
    )
