"""A session: statements in, a job out. What the command line and the Python interface share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.node import Node, walk
from millstream.algebra.types import type_name
from millstream.bind import (
    Bound,
    bind_derived,
    bind_query,
    bind_stream,
    bind_table,
    outermost,
    source_fault,
)
from millstream.bind.names.script_order import script_order
from millstream.bind.relations.times import domain_of
from millstream.bind.tables.histories import TableHistories
from millstream.catalog import SIDES, STATEMENTS, Catalog, Stream, Table, View, kind_of
from millstream.connect.opening import open_stream
from millstream.connect.source import Source
from millstream.connect.table import TableFiles
from millstream.engine.holdings import Held
from millstream.engine.job import Job
from millstream.engine.live_tables import LiveTables
from millstream.engine.outputs import COMPLETE, STREAM, STREAMED, Query
from millstream.engine.state_report import state_report
from millstream.errors import MillstreamError, closest
from millstream.lang import (
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Modification,
    QueryStatement,
    Set,
    Show,
    Statement,
    commands,
    deep_stack,
    parse_script,
    to_sql,
)
from millstream.operators import Scan
from millstream.plan.alternatives import Chooser
from millstream.plan.annotate import with_patterns, with_reasons
from millstream.plan.explain_cost import cost_text
from millstream.plan.memory import growing
from millstream.plan.picture import Drawing, picture
from millstream.plan.statistics import NOTHING
from millstream.plan.strategy import physical
from millstream.plan.tables import streams_of_time, with_time
from millstream.settings import Settings

STAGES = tuple(stage.lower() for stage in commands.STAGES)


@dataclass
class Session:
    """The names, queries and settings that statements have made so far.

    `base` is the folder that SOURCE paths are relative to; `tell` gets the text that SHOW, DESCRIBE
    and EXPLAIN print; `held` gives what operators hold, if a job runs or has run.
    """

    base: str = "."
    settings: Settings = field(default_factory=Settings)
    tell: Callable[[str], None] = print
    held: Callable[[], Held | None] = lambda: None
    catalog: Catalog = field(default_factory=Catalog)
    queries: dict[str, Query] = field(default_factory=dict)
    pinned: dict[str, str] = field(default_factory=dict)
    _bare: int = 0
    _live: LiveTables | None = None
    _scratch: TemporaryDirectory | None = None

    def __post_init__(self) -> None:
        self.tables = TableHistories(self.catalog, self._users)

    def execute(self, text: str) -> list[Query]:
        """Carry out a script; gives the queries it registered."""
        with deep_stack():
            statements = parse_script(text)
            found: dict[int, Query] = {}
            for at in script_order(statements, self.catalog.entries):
                if (query := self._carry_out(statements[at], text)) is not None:
                    found[at] = query
            registered = [found[at] for at in sorted(found)]
            self._list_in_order(registered)
            return registered

    def _list_in_order(self, registered: list[Query]) -> None:
        """The queries of a script, in the order they are written in."""
        for query in registered:
            if self.queries.get(query.name) is query:
                self.queries[query.name] = self.queries.pop(query.name)

    def _carry_out(self, statement: Statement, text: str) -> Query | None:
        try:
            return self._statement(statement, text)
        except MillstreamError as error:
            place = getattr(statement, "name_place", None)
            if isinstance(statement, Set) and Settings.has(statement.name):
                place = statement.value_place
            raise error.at(place or statement.place) from None

    def _statement(self, statement: Statement, text: str) -> Query | None:
        match statement:
            case CreateStream():
                self._add_declared(statement)
            case CreateTable():
                self.catalog.check_free(statement.name)
                self._add_table(statement)
            case Modification():
                self.tables.modify(statement, text)
            case CreateStreamAs() | CreateView():
                return self._named(statement, text)
            case QueryStatement(query=query):
                bound = outermost(bind_query(query, self.catalog, text))
                return self._register(self._next_name(), bound, to_sql(query))
            case Drop():
                self._drop(statement)
            case Set(name=name, value=value):
                if name.lower() not in self.pinned:
                    self.settings = self.settings.with_value(name, value)
            case Show(what=what):
                self.tell(self._show(what))
            case Describe(name=name):
                self.tell(self.describe(name))
            case Explain():
                self.tell(self._explain(statement, text))
        return None

    def pin(self, name: str, value: str) -> None:
        """A setting from outside the script, which the script does not change."""
        self.settings = self.settings.with_value(name, value)
        self.pinned[name.lower()] = value

    def add_stream(self, stream: Stream) -> None:
        """Declare a stream. Its source is opened, so that what is wrong with it is told here."""
        if stream.source is not None:
            self.open(stream, follow=False)
        self.catalog.add(stream)

    def _add_declared(self, statement: CreateStream) -> None:
        self.catalog.check_free(statement.name)
        stream = bind_stream(statement, self.base)
        try:
            self.add_stream(stream)
        except MillstreamError as error:
            raise error.at(source_fault(statement, error)) from None

    def _add_table(self, statement: CreateTable) -> None:
        table = bind_table(statement, TableFiles(self.base), self.base)
        if table.changes is not None:
            try:
                self.open(table.changes, follow=False)
            except MillstreamError as error:
                raise error.at(source_fault(statement, error)) from None
        self.catalog.add(table)
        self.tables.open(table)
        if self._live is not None:
            self._live.take(table)

    def open(self, stream: Stream, follow: bool) -> Source:
        return open_stream(stream, follow)

    def sources(self, follow: bool) -> dict[str, Source]:
        """The sources of all streams that have one."""
        return {s.name: self.open(s, follow) for s in self.streams.values() if s.source is not None}

    @property
    def streams(self) -> dict[str, Stream]:
        """The declared streams, and the modifications of tables that change."""
        found = {}
        for entry in self.catalog.entries.values():
            stream = entry.changes if isinstance(entry, Table) else entry
            if isinstance(stream, Stream):
                found[entry.name] = self.tables.placed(stream)
        for query in self.queries.values():
            found |= streams_of_time(with_time(query.plan, query.domain))
        return found

    def job(self, changes: frozenset[str] = frozenset()) -> Job:
        """What is registered, as one job; streams nobody reads are left out of nothing: late and
        bad rows of every stream are part of the answer."""
        streams = {**self.streams, **self._sides()}
        contents = {} if self._live is None else self._live.contents
        queries = [
            replace(q, plan=with_time(q.plan, q.domain, contents)) for q in self.queries.values()
        ]
        return Job(streams, tuple(queries), self.settings, changes)

    def begin(self, checkpoint: str | None, follow: bool) -> None:
        """Make ready for a run: changes of tables go to the checkpoint, databases are read again.

        To be called before the job is made.
        """
        if checkpoint is None:
            self._scratch = self._scratch or TemporaryDirectory(prefix="millstream-tables-")
            folder = self._scratch.name
        else:
            folder = f"{checkpoint}/tables"
        self._live = LiveTables(self.tables, Path(folder).absolute(), follow)
        entries = self.catalog.entries.values()
        self._live.begin(entry for entry in entries if isinstance(entry, Table))

    def refresh(self, beats: Mapping[str, int]) -> None:
        """Statements that follow are about tables as they are at these heartbeats."""
        if self._live is not None:
            self._live.refresh(beats)

    def end(self) -> None:
        """The run is over: databases are not read any more."""
        if self._live is not None:
            self._live.end()

    def _sides(self) -> dict[str, Stream]:
        """The streams of late and bad rows that queries read."""
        plans = [query.plan for query in self.queries.values()]
        read = {n.stream for plan in plans for n in walk(plan) if isinstance(n, Scan)}
        sides = [stream.side(kind) for stream in self.streams.values() for kind in SIDES]
        return {side.name: side for side in sides if side.name in read}

    def query(self, text: str, name: str | None = None) -> Query:
        """Register one query and give it back."""
        if name is not None:
            quoted = name.replace('"', '""')
            text = f'CREATE VIEW "{quoted}" AS {text}'
        registered = self.execute(text)
        if len(registered) != 1:
            raise MillstreamError(
                f"one query is expected here, and the text has {len(registered) or 'none'}",
                hint="Give scripts to execute.",
            )
        return registered[0]

    def _named(self, statement: CreateStreamAs | CreateView, text: str) -> Query:
        self.catalog.check_free(statement.name)
        if self._query(statement.name) is not None:
            raise MillstreamError(
                f'query "{statement.name}" exists already', hint="Choose another name."
            )
        bound, said = bind_derived(statement, self.catalog, text)
        bound = outermost(bound)
        kind = "stream" if isinstance(statement, CreateStreamAs) else "view"
        self.catalog.add(View(statement.name, bound.plan, said, kind))
        return self._register(statement.name, bound, said)

    def _register(self, name: str, bound: Bound, said: str) -> Query:
        form = _form_of(bound)
        told = (*bound.notices, *growing(bound.plan, form == COMPLETE))
        notices = tuple(notice.about(name) for notice in told)
        views = self._views_in(bound.plan)
        query = Query(name, bound.plan, form, domain_of(bound.plan), said, notices, views)
        self.queries[name] = query
        return query

    def _views_in(self, plan: Node) -> tuple[Node, ...]:
        """The plans of views that this one is made of."""
        parts = set(walk(plan)) - {plan}
        return tuple(
            entry.plan
            for entry in self.catalog.entries.values()
            if isinstance(entry, View) and entry.plan in parts
        )

    def _next_name(self) -> str:
        """q1, q2, …, without the names that the script has given."""
        while True:
            self._bare += 1
            name = f"q{self._bare}"
            if name not in self.catalog.entries and self._query(name) is None:
                return name

    def _query(self, name: str) -> Query | None:
        return next((q for q in self.queries.values() if q.name.lower() == name.lower()), None)

    def _drop(self, statement: Drop) -> None:
        name, asked = statement.name, statement.kind
        entry, query = self.catalog.entries.get(name.lower()), self._query(name)
        if entry is None:
            if query is not None and asked == "query":
                del self.queries[query.name]
            elif query is not None:
                raise _wrong_kind(query.name, "query", asked)
            elif not statement.if_exists:
                raise self._nothing_to_drop(asked, name)
            return
        kind = kind_of(entry)
        allowed = {kind}
        if isinstance(entry, View):
            allowed |= {"query", "stream", "view"} if entry.plan.is_stream else {"query"}
        if asked not in allowed:
            raise _wrong_kind(entry.name, kind, asked)
        if users := self._users(entry):
            raise MillstreamError(
                f'{kind} "{entry.name}" is used by {", ".join(users)}',
                hint="Drop what uses it first.",
            )
        self.catalog.drop(entry.name)
        self.queries.pop(entry.name, None)

    def _nothing_to_drop(self, kind: str, name: str) -> MillstreamError:
        names = [*(e.name for e in self.catalog.entries.values()), *self.queries]
        near = closest(name, names)
        hint = (
            f'Did you mean "{near}"?'
            if near
            else (f"Leave it out, or write DROP {kind.upper()} IF EXISTS.")
        )
        return MillstreamError(f'{kind} "{name}" does not exist', hint=hint)

    def _users(self, entry: Stream | Table | View) -> list[str]:
        """The queries that read a stream, table or view, by its name in their text."""
        found = []
        for query in self.queries.values():
            if query.name == entry.name:
                continue
            tree = parse_script(query.text)[0]
            assert isinstance(tree, QueryStatement)
            names = {n.lower() for t in tree.query.find_all(exp.Table) for n in (t.name, t.db)}
            if entry.name.lower() in names:
                found.append(f'"{query.name}"')
        return found

    def _show(self, what: str | None) -> str:
        lines = []
        for kind in ("streams", "tables", "views"):
            if what in (None, kind):
                lines += [
                    f"{kind_of(e)} {e.name}"
                    for e in self.catalog.entries.values()
                    if kind_of(e) + "s" == kind
                ]
        if what in (None, "queries"):
            lines += [f"query {q.name} ({q.form}): {q.text}" for q in self.queries.values()]
        if what in (None, "settings"):
            lines += [f"setting {k} = {v}" for k, v in vars(self.settings).items()]
        return "\n".join(lines) or "nothing yet"

    def describe(self, name: str) -> str:
        """The columns of a stream, table or view, and what is known of its time."""
        entry = self.catalog.find(name)
        schema = entry.plan.schema if isinstance(entry, View) else pa.schema(list(entry.columns))
        width = max((len(f.name) for f in schema), default=0)
        lines = [f"{kind_of(entry)} {entry.name}"]
        lines += [f"  {f.name:<{width}}  {type_name(f.type)}" for f in schema]
        match entry:
            case Stream():
                order = "arrival" if entry.order_by is None else entry.order_by
                lines.append(f"  ordered by {order}; counts {entry.domain.words}")
                lines += [f"  slack {entry.slack}"] if entry.slack else []
                lines += [f"  source {entry.source}"] if entry.source else []
            case Table():
                lines += [f"  {line}" for line in _about_table(entry)]
            case View():
                key = "none" if entry.plan.key is None else ", ".join(entry.plan.key) or "one row"
                lines += [f"  {entry.kind}; key: {key}", f"  {entry.text}"]
        return "\n".join(lines)

    def _explain(self, statement: Explain, text: str) -> str:
        stage = (statement.stage or "optimized").lower()
        if statement.query is not None:
            bound = outermost(bind_query(statement.query, self.catalog, text))
            query = self._explained("query", bound)
        else:
            query = self.find_query(statement.name or "")
        return self.explain(query, stage)

    def find_query(self, name: str) -> Query:
        if (query := self._query(name)) is not None:
            return query
        entry = self.catalog.entries.get(name.lower())
        if entry is not None:
            raise MillstreamError(
                f'{kind_of(entry)} "{entry.name}" is not a query',
                hint=f"Write DESCRIBE {entry.name}, or EXPLAIN SELECT ….",
            )
        near = closest(name, list(self.queries))
        names = ", ".join(self.queries)
        known = f"Write one of {names}." if names else "Write EXPLAIN SELECT …."
        if name.lower() in STAGES:
            near, known = None, f"After EXPLAIN {name.upper()} write a query, or the name of one."
        raise MillstreamError(
            f'query "{name}" does not exist', hint=f'Did you mean "{near}"?' if near else known
        )

    def _explained(self, name: str, bound: Bound) -> Query:
        form = _form_of(bound)
        notices = (*bound.notices, *growing(bound.plan, form == COMPLETE))
        views = self._views_in(bound.plan)
        return Query(name, bound.plan, form, domain_of(bound.plan), "", notices, views)

    def explain(self, query: Query, stage: str = "optimized") -> str:
        """The plan of a query at a stage, with the defaults that were used."""
        stage = _checked(stage)
        title, body = f"{stage} plan", ""
        if stage == "state":
            title, body = "state", self._state_of(query)
        elif stage == "patterns":
            title, body = "update patterns", with_reasons(self.plan_of(query, stage))
        elif stage == "cost":
            title, body = "cost", self._cost_of(query)
        else:
            body = with_patterns(self.plan_of(query, stage))
        notes = [f"-- {n.render()}" for n in query.notices]
        return "\n".join([f"-- {query.name}: {query.form}, {title}", *notes, body])

    def _state_of(self, query: Query) -> str:
        """What the operators of a query keep; of a job that knows the query also what they hold."""
        held = self.held()
        known = held is not None and any(
            q.name == query.name and q.text == query.text for q in held.job.queries
        )
        if held is None or not known:
            timed = replace(query, plan=with_time(query.plan, query.domain))
            return state_report(Job({}, (timed,), self.settings).roots_of(query.name), None)
        return state_report(held.job.roots_of(query.name), held)

    def picture(self, queries: Iterable[Query], stage: str = "optimized") -> str:
        """The plans of queries at a stage as one SVG."""
        stage = _checked(stage)
        kind = {"state": "physical", "patterns": "optimized", "cost": "optimized"}.get(stage, stage)
        return picture(
            [
                Drawing(f"{q.name}: {q.form}, {kind} plan", q.text, self.plan_of(q, stage))
                for q in queries
            ]
        )

    def plan_of(self, query: Query, stage: str) -> Node:
        """The plan of a query as it is written, optimized, or carried out."""
        root = query.content_root or query.changes_root
        held = self.held() if stage != "bound" else None
        chooser = Chooser() if held is None else Chooser(held.job.choices, held.statistics)
        if self.settings.rules == "fixed":
            chooser = Chooser(most=1)
        if stage in ("physical", "state"):
            return physical(root, self.settings, query.views, chooser=chooser)
        if stage == "bound" or self.settings.rules == "off":
            return root
        return chooser.optimized(root, query.views)

    def _cost_of(self, query: Query) -> str:
        """The plans to choose from; with what was measured, if a job runs or has run."""
        held, root = self.held(), query.content_root or query.changes_root
        known, statistics = ({}, NOTHING) if held is None else (held.job.choices, held.statistics)
        settings = self.settings if held is None else held.job.settings
        return cost_text(root, query.views, known, statistics, query.domain, settings)


def _checked(stage: str) -> str:
    if stage.lower() not in STAGES:
        near = closest(stage, STAGES)
        raise MillstreamError(
            f'stage "{stage}" does not exist',
            hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(STAGES)}.",
        )
    return stage.lower()


def _about_table(table: Table) -> list[str]:
    """What is known of a table, but never how to get into its database."""
    stream, rows = table.changes, table.content.rows.num_rows
    lines = [f"key: {', '.join(table.key)}"] if table.key else []
    if stream is None:
        return [*lines, f"{rows} rows"]
    lines += ["non retroactive"] if table.non_retroactive else []
    lines += [f"{rows} rows at the beginning"] if rows else []
    if table.every is not None:
        return [*lines, f"read again every {table.every / 1_000_000:g} seconds"]
    by = "statements" if stream.source == STATEMENTS else f"source {stream.source}"
    lines.append(f"changed by {by}; counts {stream.domain.words}")
    return [*lines, f"slack {stream.slack}"] if stream.slack else lines


def _form_of(bound: Bound) -> str:
    if bound.plan.is_stream:
        return STREAM
    return STREAMED if bound.form == "streamed" else COMPLETE


def _wrong_kind(name: str, kind: str, asked: str) -> MillstreamError:
    return MillstreamError(
        f'"{name}" is a {kind}, not a {asked}', hint=f'Write DROP {kind.upper()} "{name}".'
    )
