"""The answer of a script: every relation at every instant, and what the output forms make of it."""

from dataclasses import dataclass, replace

from .infer import base_of, domain_of, form_of, key_of, may_drift, schemas_of
from .outputs import stream_of, tagged_of
from .relations import Fact, Timeline, answer
from .spec import Columns, Query, Row, Script, SpecError, StreamSpec, Window, instant_of
from .windows import Element, content, in_order, turning_points

DENSE = 5_000
"""Up to so many instants, each is visited; above, only those at which something can change."""


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


@dataclass(frozen=True)
class Ingest:
    """A base stream's elements, sorted apart: on time, late, and without a timestamp."""

    elements: list[Element]
    late: tuple[Row, ...]
    errors: tuple[Row, ...]


def evaluate(script: Script) -> dict[str, Result]:
    """The expected content of every output file, by its name without the ending.

    Names: the queries and derived streams; `<name>.changes` for every relation;
    `<stream>.late` and `<stream>.errors` for every base stream.
    """
    schemas, domain, base = schemas_of(script), domain_of(script), base_of(script)
    ingests = {stream.name: ingest(stream) for stream in script.streams}
    ends = last_instants(script, ingests)
    sources: dict[str, list[Element] | Timeline] = {n: i.elements for n, i in ingests.items()}
    results: dict[str, Result] = {}
    for name, query in script.named_queries():
        begin = min((e.ts for e in ingests[base[query.stream]].elements), default=None)
        end = ends[base[query.stream]]
        timeline = relation(script, query, sources[query.stream], begin, end, schemas)
        history = tuple((at, tuple(f.row for f in facts)) for at, facts in timeline.changes())
        drift = may_drift(script, query)
        blank = Result("", schemas[name], (), domain[query.stream], None, history, drift)
        key = key_of(script, query)
        tagged = replace(blank, kind="tagged", rows=tagged_of(timeline, key), key=key)
        match form_of(script, query):
            case "stream":
                sources[name] = elements = stream_of(timeline, query.output or "istream")
                rows = tuple((e.ts, e.row) for e in elements)
                results[name] = replace(blank, kind="stream", rows=rows)
            case "tagged":
                results[name] = tagged
            case "relation":
                sources[name] = timeline
                results[name] = replace(blank, kind="relation", rows=timeline.last(), key=key)
                results[f"{name}.changes"] = tagged
    for name, taken in ingests.items():
        results[f"{name}.late"] = Result("rows", schemas[name], taken.late, domain[name])
        results[f"{name}.errors"] = Result("rows", schemas[name], taken.errors, domain[name])
    return results


def ingest(stream: StreamSpec) -> Ingest:
    """Late: ts < m − slack, m the largest timestamp of the elements that arrived before."""
    elements: list[Element] = []
    late: list[Row] = []
    errors: list[Row] = []
    largest: int | None = None
    for number, row in enumerate(stream.rows, 1):
        ts = time_of(stream, number, row)
        if ts is None:
            errors.append(row)
        elif largest is not None and ts < largest - stream.slack:
            late.append(row)
        else:
            elements.append(Element(number, (number,), ts, row))
            largest = ts if largest is None else max(largest, ts)
    return Ingest(in_order(elements), tuple(late), tuple(errors))


def time_of(stream: StreamSpec, number: int, row: Row) -> int | None:
    """The instant of a row: its order column, or its arrival number in a latent stream."""
    if stream.order_by is None:
        return number
    value = row[[name for name, _ in stream.columns].index(stream.order_by)]
    return None if value is None else instant_of(value)


def last_instants(script: Script, ingests: dict[str, Ingest]) -> dict[str, int | None]:
    """The end of time for every base stream: the largest timestamp in its domain."""
    latest: dict[str, int] = {}
    for stream in script.streams:
        for e in ingests[stream.name].elements:
            clock = clock_of(stream)
            latest[clock] = max(latest.get(clock, e.ts), e.ts)
    return {stream.name: latest.get(clock_of(stream)) for stream in script.streams}


def clock_of(stream: StreamSpec) -> str:
    """Streams of one domain share a clock; a latent stream has one of its own."""
    return f"latent {stream.name}" if stream.order_by is None else stream.domain


def relation(
    script: Script,
    query: Query,
    source: list[Element] | Timeline,
    begin: int | None,
    end: int | None,
    schemas: dict[str, Columns],
) -> Timeline:
    """The query's relation at every instant of its time, before the output form."""
    if begin is None or end is None:
        return Timeline(())
    tables = {table.name: table.rows for table in script.tables}
    if isinstance(source, Timeline):
        inputs = source.moments
    else:
        window = query.window or Window("unbounded")
        names = [name for name, _ in schemas[query.stream]]
        inputs = tuple(
            (at, [Fact(e.number, e.ts, e.order, e.row) for e in content(window, names, source, at)])
            for at in instants(window, source, begin, end)
        )
    return answer(query, inputs, tables, schemas)


def instants(window: Window, elements: list[Element], begin: int, end: int) -> list[int]:
    """Every instant of the query's time, or, where those are many, enough of them."""
    if end - begin <= DENSE:
        return list(range(begin, end + 1))
    points = turning_points(window, elements) | {begin, end}
    return sorted(point for point in points if begin <= point <= end)


__all__ = ["Result", "SpecError", "evaluate", "ingest"]
