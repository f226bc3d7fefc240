"""The answer of a script: every relation at every instant, and what the output forms make of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .check import check
from .facts import Timeline
from .forms import domain_of, form_of, key_of, may_drift
from .outputs import stream_of, tagged_of
from .spec import AnyQuery, Columns, Row, Script, SpecError, Ticks
from .syncs import elements_of, sync_domain
from .windows import as_value
from .world import World, ingest


@dataclass(frozen=True)
class Result:
    """One output file: what it holds, in the order of time.

    `kind` is stream (rows are (ts, row)), tagged ((op, ts, row)), relation (row: the bag at the
    last instant) or rows (late and bad rows, as they arrived). `history` is the relation behind
    it: its bag at every instant at which a tuple entered or left. `may_drift`: the rows hold
    sums of doubles, and compare them.
    """

    kind: str
    columns: Columns
    rows: tuple
    domain: str
    key: tuple[int, ...] | None = None
    history: tuple[tuple[int, tuple[Row, ...]], ...] = ()
    may_drift: bool = False


def evaluate(script: Script) -> dict[str, Result]:
    """The expected content of every output file, by its name without the ending.

    Names: the queries and derived streams; `<name>.changes` for every relation;
    `<stream>.late` and `<stream>.errors` for every base stream, `<table>.late` for every table
    with a file of changes.
    """
    world = World(script, check(script))
    results: dict[str, Result] = {}
    for name, query in script.named_queries():
        timeline = remember(world, name, query)
        results |= results_of(world, name, query, timeline)
    return results | ticks_of(world) | side_results(world)


def ticks_of(world: World) -> dict[str, Result]:
    """The streams of ticks of the clock."""
    results = {}
    for sync in world.script.syncs:
        if not isinstance(sync.of, Ticks):
            continue
        domain = sync_domain(world.script, sync.name)
        type_ = "timestamp" if domain == "timestamp" else "bigint"
        end = world.end_of(domain)
        found = elements_of(world.script, world.streams, sync.name, end).instants
        rows = tuple((t, (as_value(t, type_),)) for t in found)
        results[sync.name] = Result("stream", (("Timepoint", type_),), rows, domain)
    return results


def remember(world: World, name: str, query: AnyQuery) -> Timeline:
    """The relation of a named query, which later ones can read."""
    timeline = world.relation(query)
    match form_of(world.script, query):
        case "stream":
            run = world.run_of(query)
            active = frozenset() if run is None else run.active(query)
            world.streams[name] = stream_of(timeline, query.output or "istream", active)
        case "relation":
            world.relations[name] = timeline
    return timeline


def results_of(world: World, name: str, query: AnyQuery, timeline: Timeline) -> dict[str, Result]:
    """The files of one query."""
    script, catalog = world.script, world.catalog
    history = tuple((at, tuple(f.row for f in facts)) for at, facts in timeline.changes())
    drift, domain = may_drift(script, query), domain_of(script, query)
    blank = Result("", catalog.named[name], (), domain, None, history, drift)
    form = form_of(script, query)
    if form == "stream":
        rows = tuple((e.ts, e.row) for e in world.streams[name])
        return {name: replace(blank, kind="stream", rows=rows)}
    key = key_of(catalog, query)
    tagged = replace(blank, kind="tagged", rows=tagged_of(timeline, key), key=key)
    if form == "tagged":
        return {name: tagged}
    whole = replace(blank, kind="relation", rows=timeline.last(), key=key)
    return {name: whole, f"{name}.changes": tagged}


def side_results(world: World) -> dict[str, Result]:
    """Late and bad rows."""
    results = {}
    for stream in world.script.streams:
        taken, columns = world.ingests[stream.name], stream.columns
        results[f"{stream.name}.late"] = Result("rows", columns, taken.late, stream.domain)
        results[f"{stream.name}.errors"] = Result("rows", columns, taken.errors, stream.domain)
    for table in world.script.tables:
        if table.feed == "changes":
            late = world.histories[table.name].late
            results[f"{table.name}.late"] = Result("rows", table.columns, late, table.domain)
    return results


__all__ = ["Result", "SpecError", "evaluate", "ingest"]
