"""EXPLAIN of stored results: how often they are brought up to date, what of the past is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from millstream.algebra.node import walk
from millstream.engine.holdings import Held
from millstream.engine.job import Job
from millstream.engine.outputs import COMPLETE, Query
from millstream.plan.tables import with_time
from millstream.settings import Settings


def how_read(
    query: Query, queries: Iterable[Query], settings: Settings, held: Held | None
) -> Iterator[str]:
    """A line for what follows from the ways in which a result is read."""
    if query.form != COMPLETE:
        return
    job = held.job if held is not None and query.name in held.job.materialized_roots else None
    root = (job or _job_around(query, queries, settings)).materialized_roots[query.name]
    layouts = [node.state_layout for node in walk(root)]
    if any(layout.at_once for layout in layouts):
        yield "only its content is read: it is brought up to date once a batch"
    if any(layout.subtotals is not None for layout in layouts):
        yield "rows of a group are put together where they are read"
    if root.state_layout.history:
        yield f"what it held is kept, for AS OF: history = {settings.history}"


def _job_around(query: Query, queries: Iterable[Query], settings: Settings) -> Job:
    """A job of the query and those that read it."""
    name = query.name.lower()
    around = (query, *(one for one in queries if name in one.reads and one.name != query.name))
    timed = tuple(replace(one, plan=with_time(one.plan, one.domain)) for one in around)
    return Job({}, timed, settings)
