"""Statements, carried out on contents that nobody else sees yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from millstream.bind import (
    bind_derived,
    bind_query,
    bind_stream,
    bind_table,
    outermost,
    with_columns,
)
from millstream.bind import source_fault as fault_in
from millstream.bind.names.script_order import script_order
from millstream.catalog import Reader, Stream, Table, View
from millstream.connect.files.file_order import order_notice
from millstream.connect.opening import is_waiting, open_stream
from millstream.connect.table import TableFiles
from millstream.database.contents import Contents
from millstream.database.describing import described, shown
from millstream.database.dropping import drop
from millstream.database.events import (
    Event,
    NameDefined,
    Noticed,
    QueryRegistered,
    SettingChanged,
)
from millstream.database.explaining import Explainer, found_query
from millstream.database.registry import query_of
from millstream.engine.holdings import Held
from millstream.engine.live_tables import LiveTables
from millstream.engine.outputs import Query
from millstream.errors import MillstreamError
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
    parse_script,
    to_sql,
)
from millstream.settings import Settings

Declaration = TypeVar("Declaration", CreateStream, CreateTable)


@dataclass
class Draft:
    """Carries statements out on its own contents, and collects what is to happen if all succeed.

    `texts` is what SHOW, DESCRIBE and EXPLAIN have to say, `events` what was defined and dropped,
    `watched` the new tables that are to be read from their databases while the job runs. With
    `follow`, a source may be declared before its first file is there; `remembered` gives the whole
    declaration of a stream whose columns were inferred when its checkpoint began.
    """

    contents: Contents
    base: str
    live: LiveTables | None = None
    held: Callable[[], Held | None] = lambda: None
    texts: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    watched: list[Table] = field(default_factory=list)
    follow: bool = False
    remembered: Callable[[str], str | None] = lambda name: None

    def execute(self, text: str) -> list[Query]:
        """Carry out a script; gives the queries it registered, in the order they are written in."""
        statements = parse_script(text)
        found: dict[int, Query] = {}
        for at in script_order(statements, self.contents.catalog.entries):
            if (query := self._carry_out(statements[at], text)) is not None:
                found[at] = query
        registered = [found[at] for at in sorted(found)]
        self.contents.queries.put_in_order(registered)
        return registered

    def add_stream(self, stream: Stream) -> None:
        """Declare a stream. Its source is opened here, so that a fault in it is raised here."""
        if stream.source is not None:
            self._open(stream, self.follow)
        self.contents.catalog.add(stream)
        self.events.append(NameDefined("stream", stream.name))

    def add_table(self, table: Table) -> None:
        """Declare a table, with what was fed to it before if a job runs."""
        self.contents.catalog.add(table)
        self.contents.tables.open(table)
        self.events.append(NameDefined("table", table.name))
        if self.live is not None:
            self.live.recall(table, self.contents.tables)
            self.watched.append(table)

    def watch(self) -> None:
        """Begin to read the new tables of databases, which a running job follows."""
        for table in self.watched:
            if self.live is not None:
                self.live.watch(table, self.contents.tables)

    def unwatch(self) -> None:
        """Read them no more: the draft was not accepted."""
        for table in self.watched:
            if self.live is not None:
                self.live.unwatch(table.name)

    def set(self, name: str, value: str) -> None:
        """Give a setting a value, unless it was pinned from outside."""
        if name.lower() not in self.contents.pinned:
            self.contents.settings = self.contents.settings.with_value(name, value)
            self.events.append(SettingChanged(name.lower(), value))

    def _carry_out(self, statement: Statement, text: str) -> Query | None:
        try:
            return self._statement(statement, text)
        except MillstreamError as error:
            place = getattr(statement, "name_place", None)
            if isinstance(statement, Set) and Settings.has(statement.name):
                place = statement.value_place
            raise error.at(place or statement.place) from None

    def _statement(self, statement: Statement, text: str) -> Query | None:
        contents = self.contents
        match statement:
            case CreateStream():
                self._declare_stream(statement)
            case CreateTable():
                self._declare_table(statement)
            case Modification():
                contents.tables.modify(statement, text)
            case CreateStreamAs() | CreateView():
                return self._name_query(statement, text)
            case QueryStatement(query=tree):
                bound = outermost(bind_query(tree, contents.catalog, text))
                name = contents.queries.next_name(contents.catalog)
                query = query_of(name, bound, to_sql(tree), contents.catalog)
                return self._register(query, Reader("query", name), bound.reads)
            case Drop():
                self.events += drop(statement, contents)
            case Set(name=name, value=value):
                self.set(name, value)
            case Show(what=what):
                self.texts.append(shown(what, contents))
            case Describe(name=name):
                self.texts.append(described(contents.catalog.find(name)))
            case Explain():
                self.texts.append(self._explain(statement, text))
        return None

    def _declare_stream(self, statement: CreateStream) -> None:
        self.contents.catalog.check_free(statement.name)
        statement, text = self._with_columns(statement)
        stream = replace(bind_stream(statement, self.base), inferred=text)
        try:
            self.add_stream(stream)
        except MillstreamError as error:
            raise error.at(fault_in(statement, error)) from None

    def _declare_table(self, statement: CreateTable) -> None:
        self.contents.catalog.check_free(statement.name)
        statement, text = self._with_columns(statement)
        try:
            table = replace(bind_table(statement, TableFiles(self.base), self.base), inferred=text)
        except MillstreamError as error:
            if text is not None and error.detail is None:
                error.detail = f"Its columns were inferred: {text}"
            raise
        if table.changes is not None:
            changes = replace(table.changes, inferred=text)
            table = replace(table, changes=changes)
            try:
                self._open(changes, follow=False)
            except MillstreamError as error:
                raise error.at(fault_in(statement, error)) from None
        self.add_table(table)

    def _open(self, stream: Stream, follow: bool) -> None:
        """See that a source can be read, and in which order its files are.

        Only a source that has nothing yet is opened as one that is followed: a file that is there
        must be right.
        """
        try:
            source = open_stream(stream, follow=False)
        except MillstreamError:
            if not follow or not is_waiting(source := open_stream(stream, follow=True)):
                raise
        notice = order_notice(source, stream)
        if notice is not None:
            self.events.append(Noticed(notice))

    def _with_columns(self, statement: Declaration) -> tuple[Declaration, str | None]:
        """A declaration with its columns; if these were inferred, the text of all of it, too."""
        if statement.columns:
            return statement, None
        completed = with_columns(statement, self.base, self.remembered(statement.name))
        self.events.append(Noticed(completed.notice))
        return completed.statement, completed.text

    def _name_query(self, statement: CreateStreamAs | CreateView, text: str) -> Query:
        name, catalog = statement.name, self.contents.catalog
        catalog.check_free(name)
        if self.contents.queries.find(name) is not None:
            raise MillstreamError(f'query "{name}" exists already', hint="Choose another name.")
        bound, said = bind_derived(statement, catalog, text)
        bound = outermost(bound)
        kind = "stream" if isinstance(statement, CreateStreamAs) else "view"
        catalog.add(View(name, bound.plan, said, kind))
        self.events.append(NameDefined(kind, name))
        return self._register(query_of(name, bound, said, catalog), Reader(kind, name), bound.reads)

    def _register(self, query: Query, reader: Reader, reads: tuple[str, ...]) -> Query:
        query = replace(query, notices=tuple(n.about(query.name) for n in query.notices))
        self.contents.queries.add(query)
        self.contents.catalog.note_reads(reader, reads)
        self.events.append(QueryRegistered(query))
        return query

    def _explain(self, statement: Explain, text: str) -> str:
        contents = self.contents
        if statement.query is not None:
            bound = outermost(bind_query(statement.query, contents.catalog, text))
            query = query_of("query", bound, "", contents.catalog)
        else:
            query = found_query(statement.name or "", contents)
        stage = (statement.stage or "optimized").lower()
        return Explainer(contents.settings, self.held()).explain(query, stage)
