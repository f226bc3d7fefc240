"""The run of a script: what its streams and tables hold, and the relations of its queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from .facts import Fact, Timeline
from .forms import (
    STREAM_OPERATORS,
    bases_of,
    domain_of,
    is_stream,
    leaves_of,
    table_of,
    view_of,
)
from .infer import Catalog, own_columns, source_columns
from .joins import Moment
from .outputs import stream_of
from .relations import facts_of
from .spec import AnyQuery, Row, Script, Source, StreamSpec, Window, instant_of, reads_now
from .syncs import Points, clocks_of, points_of, sync_domain
from .tables import History, history_of
from .values import NOW
from .windows import Element, as_value, bounded, in_order, turning_points

HALF, NEAR = 500_000, 16
DENSE = 5_000
"""Up to so many instants, each is visited; above, only those at which something can change."""


@dataclass(frozen=True)
class Ingest:
    """A base stream's elements, sorted apart: on time, late, and without a timestamp."""

    elements: list[Element]
    late: tuple[Row, ...]
    errors: tuple[Row, ...]


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
    if value is None:
        return None
    return value * 1_000_000 if stream.in_seconds else instant_of(value)


@dataclass
class World:
    """Streams by their elements, relations by their timelines, filled in script order."""

    script: Script
    catalog: Catalog
    ingests: dict[str, Ingest] = field(default_factory=dict)
    histories: dict[object, History] = field(default_factory=dict)
    streams: dict[str, list[Element]] = field(default_factory=dict)
    relations: dict[str, Timeline] = field(default_factory=dict)
    known_points: dict[str, Points] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ingests = {stream.name: ingest(stream) for stream in self.script.streams}
        self.streams = {name: taken.elements for name, taken in self.ingests.items()}
        for table in self.script.tables:
            if table.is_static:
                facts = [Fact(i, None, (), row) for i, row in enumerate(table.rows)]
                self.relations[table.name] = Timeline(((-(2**63), facts),))
            else:
                self.histories[table.name] = history_of(table)
                self.relations[table.name] = self.histories[table.name].timeline

    def points(self, name: str) -> Points:
        """The time points of a sync of the script."""
        if name not in self.known_points:
            end = self.end_of(sync_domain(self.script, name))
            self.known_points[name] = points_of(self.script, self.streams, name, end)
        return self.known_points[name]

    def end_of(self, domain: str) -> int:
        """The last instant of the run."""
        changing = [t for t in self.script.tables if not t.is_static]
        there = (b.name for b in (*self.script.streams, *changing) if b.domain == domain)
        return max(self.instants_of(frozenset(there)), default=0)

    def relation(self, query: AnyQuery) -> Timeline:
        """The query's relation at every instant of its time, before the output form."""
        run = self.run_of(query)
        return Timeline(()) if run is None else run.timeline(query)

    def run_of(self, query: AnyQuery) -> Run | None:
        """The time of a query; None when it never begins."""
        begin = min(self.instants_of(bases_of(self.script, query)), default=None)
        end = max(self.instants_of(self.companions(query)), default=None)
        clocks = clocks_of(self.script, query)
        if clocks and begin is not None:
            later = [self.points(name).first_from(begin) for name in clocks]
            begin = min((t for t in later if t is not None and t <= end), default=None)
        return None if begin is None else Run(self, begin, end)

    def instants_of(self, names: frozenset[str]) -> list[int]:
        """The instants of the elements of streams and the changes of tables."""
        found: list[int] = []
        for name in names:
            if name in self.histories:
                found += self.histories[name].instants
            else:
                found += [e.ts for e in self.ingests[name].elements]
        return found

    def companions(self, query: AnyQuery) -> frozenset[str]:
        """Everything with the query's clock: all of its domain; a latent stream has its own."""
        domain = domain_of(self.script, query)
        if domain == "latent":
            return bases_of(self.script, query)
        changing = [t for t in self.script.tables if not t.is_static]
        return frozenset(b.name for b in (*self.script.streams, *changing) if b.domain == domain)


@dataclass
class Run:
    """The time of one query of the script, from its beginning to the end of the run."""

    world: World
    begin: int
    end: int
    elements: dict[int, list[Element]] = field(default_factory=dict)

    def timeline(self, query: AnyQuery) -> Timeline:
        """The facts at every instant.

        They follow from what the sources hold at that instant, so as long as that stays the
        same the facts are not worked out anew.
        """
        leaves = list(leaves_of(self.world.script, query))
        moments: list[tuple[int, list[Fact]]] = []
        held: dict[Source, list[Fact]] = {}
        moves = reads_now(query)
        for at in self.instants(leaves, moves):
            now = {leaf: self.facts(leaf, at) for leaf in leaves}
            if moments and now == held and not moves:
                moments.append((at, moments[-1][1]))
                continue
            held = now
            moments.append((at, self.facts_at(at, query, now)))
        return Timeline(tuple(moments))

    @cached_property
    def near_times(self) -> set[int]:
        """Whole and half seconds around each time that is in a row, and the instants after them:
        conditions on Now add half seconds to times. And the ticks of the clock."""
        rows = [row for spec in self.world.script.streams for row in spec.rows]
        rows += [row for table in self.world.script.tables for row in table.rows]
        rows += [e.row for stream in self.world.streams.values() for e in stream]
        times = {instant_of(v) for row in rows for v in row if isinstance(v, datetime)}
        times |= {e.ts for stream in self.world.streams.values() for e in stream}
        near = {t + k * HALF for t in times for k in range(-NEAR, NEAR + 1)}
        ticks = set(range(self.begin - self.begin % (2 * HALF), self.end + 1, 2 * HALF))
        return {t + more for t in near | ticks for more in (0, 1)}

    def facts_at(self, at: int, query: AnyQuery, now: dict[Source, list[Fact]]) -> list[Fact]:
        """The relation of a query at an instant, which is Now in its conditions."""
        kind = "timestamp" if domain_of(self.world.script, query) == "timestamp" else "bigint"
        before = NOW.set(as_value(at, kind))
        try:
            return facts_of(query, self.moment(now))
        finally:
            NOW.reset(before)

    def moment(self, now: dict[Source, list[Fact]]) -> Moment:
        def facts(source: Source) -> list[Fact]:
            return now[source] if source in now else facts_of(source.of, moment)

        tables = [t for t in self.world.script.tables if not t.retroactive]
        past = {table.name: self.world.relations[table.name] for table in tables}
        moment = Moment(self.world.catalog, facts, past, facts_of)
        return moment

    def is_stream(self, source: Source) -> bool:
        return is_stream(self.world.script, source)

    def facts(self, leaf: Source, at: int) -> list[Fact]:
        """What a source holds at an instant: a window's content, or a relation; of one that is
        synchronized, at the last point up to it."""
        if leaf.sync is not None:
            point = self.world.points(leaf.sync).last_until(at)
            return [] if point is None else self.arrived(leaf, point)
        return self.there(leaf, at)

    def arrived(self, leaf: Source, at: int) -> list[Fact]:
        """The rows of R(S) at an instant, with the time at which they came, if they show it."""
        facts = self.there(leaf, at)
        shown = dict(source_columns(leaf, self.world.catalog)[len(facts[0].row) :] if facts else ())
        if "TS" not in shown:
            return facts
        return [f._replace(row=(*f.row, as_value(f.ts, shown["TS"]))) for f in facts]

    def there(self, leaf: Source, at: int) -> list[Fact]:
        if not self.is_stream(leaf):
            return self.world.relations[leaf.of].at(at)
        columns = source_columns(leaf, self.world.catalog)
        names = [name for name, _ in own_columns(leaf, self.world.catalog)]
        window = leaf.window or Window("unbounded")
        found = bounded(window, columns, names, self.elements_of(leaf), at)
        if window.overlaps:
            return [Fact(e.number, e.ts, (0,), e.row, e.order[0]) for e in found]
        return [Fact(e.number, e.ts, e.order, e.row, e.order[0]) for e in found]

    def elements_of(self, leaf: Source) -> list[Element]:
        """The elements of a stream; a query in FROM is one by its operator, or Istream."""
        if isinstance(leaf.of, str):
            return self.world.streams[leaf.of]
        if id(leaf.of) not in self.elements:
            operator = leaf.of.output if leaf.of.output in STREAM_OPERATORS else "istream"
            found = self.timeline(leaf.of), operator, self.active(leaf.of)
            self.elements[id(leaf.of)] = stream_of(*found)
        return self.elements[id(leaf.of)]

    def active(self, query: AnyQuery) -> frozenset[int]:
        """The active instants of a query, by semantics §5.

        An element or row enters or leaves one of its windows and tables, those of relational views
        too; a table without retroaction does not count. A view at points changes at its points
        only (§8): it counts with its own rows. And every multiple of the slide of a window by time.
        """
        leaves = list(self.windows_and_tables(query))
        found: set[int] = set()
        before: list[set] = [set() for _ in leaves]
        for at in self.instants(list(leaves_of(self.world.script, query))):
            now = [{fact.identity for fact in self.facts(leaf, at)} for leaf in leaves]
            if now != before:
                found.add(at)
            before = now
        for leaf in leaves:
            if self.is_stream(leaf) and leaf.window is not None:
                found |= set(self.multiples(leaf.window))
        return frozenset(found)

    def windows_and_tables(self, query: AnyQuery) -> Iterator[Source]:
        script = self.world.script
        for leaf in leaves_of(script, query):
            view = None if self.is_stream(leaf) else view_of(script, leaf.of)
            table = table_of(script, leaf.of)
            if leaf.sync is not None:
                yield leaf
            elif view is not None:
                yield from self.windows_and_tables(view)
            elif table is None or table.is_static or table.retroactive:
                yield leaf

    def multiples(self, window: Window) -> range:
        """The instants of the query's time at which a window by time slides."""
        every = {"hop": window.slide, "tumble": window.range}.get(window.kind)
        if window.kind in ("range", "unbounded"):
            every = window.slide
        if every is None:
            return range(0)
        first = self.begin + (window.offset - self.begin) % every
        return range(first, self.end + 1, every)

    def instants(self, leaves: list[Source], moves: bool = False) -> list[int]:
        """Every instant of the query's time, or, where those are many, enough of them. It `moves`
        when a condition reads Now."""
        if self.end - self.begin <= DENSE:
            return list(range(self.begin, self.end + 1))
        points = {self.begin, self.end}
        points |= self.near_times if moves else set()
        for leaf in leaves:
            if leaf.sync is not None:
                points |= set(self.world.points(leaf.sync).within(self.begin, self.end))
            elif self.is_stream(leaf):
                window = leaf.window or Window("unbounded")
                points |= turning_points(window, self.elements_of(leaf))
                points |= set(self.multiples(window))
            else:
                points |= set(self.world.relations[leaf.of].instants)
                view = view_of(self.world.script, leaf.of)
                if view is not None:
                    inner = list(leaves_of(self.world.script, view))
                    points |= set(self.instants(inner, reads_now(view)))
        return sorted(point for point in points if self.begin <= point <= self.end)
