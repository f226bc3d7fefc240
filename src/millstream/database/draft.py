"""Statements, carried out on contents that nobody else sees yet.

Long because statements of every kind are carried out here, each in a few lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from millstream.bind import (
    bind_query,
    bind_source,
    bind_stream,
    bind_table,
    bind_tagged,
    is_whole,
    outermost,
    with_columns,
)
from millstream.bind import source_fault as fault_in
from millstream.bind.definitions.tagged import told_of
from millstream.bind.names.script_order import names_used, script_order
from millstream.catalog import Entry, Filled, Reader, Stream, Table, TaggedStream, View, kind_of
from millstream.connect.files.file_order import order_notice
from millstream.connect.opening import is_waiting, open_stream
from millstream.connect.table import TableFiles
from millstream.database.contents import Contents
from millstream.database.describing import described_function, described_name, shown
from millstream.database.dropping import drop
from millstream.database.events import (
    Event,
    NameDefined,
    NameDropped,
    Noticed,
    QueryDropped,
    QueryRegistered,
    SettingChanged,
)
from millstream.database.explaining import (
    Explainer,
    asks_for_sharing,
    asks_for_the_legend,
    found_query,
)
from millstream.database.explaining_routines import explained_routine
from millstream.database.filling import fillable, filled_again, with_insert
from millstream.database.made import Made, WithQuery, check_running, goes_on, late_of, made
from millstream.database.registry import query_of
from millstream.database.replacing import Replacing
from millstream.database.routines import define_routine, routine_again
from millstream.database.sharing import as_shared, share
from millstream.database.tagging import put_tagged, tagged_again
from millstream.engine.holdings import Held
from millstream.engine.live_tables import LiveTables
from millstream.engine.outputs import Query
from millstream.errors import MillstreamError, Notice
from millstream.lang import (
    CreateForeignAggregate,
    CreateRoutine,
    CreateStream,
    CreateStreamAs,
    CreateStreamOver,
    CreateTable,
    CreateView,
    Definition,
    Describe,
    DescribeFunction,
    Drop,
    Explain,
    ExplainRoutine,
    InsertQuery,
    Modification,
    QueryStatement,
    RegisterSource,
    Set,
    Show,
    Statement,
    parse_script,
)
from millstream.plan.legend import whole_legend
from millstream.plan.statistics import NOTHING, Statistics
from millstream.settings import Settings

Declaration = TypeVar("Declaration", CreateStream, CreateTable)


@dataclass
class Draft:
    """Carries statements out on its own contents, and collects what is to happen if all succeed.

    `texts` is what SHOW, DESCRIBE and EXPLAIN have to say, `running` the streams of the job that
    runs, `events` what was defined and dropped, `watched` the new tables that are to be read from
    their databases while the job runs. With `follow`, a source may be declared before its first
    file is there; `remembered` gives the whole declaration of a stream whose columns were inferred
    when its checkpoint began.
    """

    contents: Contents
    base: str
    live: LiveTables | None = None
    held: Callable[[], Held | None] = lambda: None
    texts: list[str] = field(default_factory=list)
    running: Mapping[str, Stream] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    watched: list[Table] = field(default_factory=list)
    follow: bool = False
    remembered: Callable[[str], str | None] = lambda name: None
    replacing: Replacing = field(init=False)

    def __post_init__(self) -> None:
        self.replacing = Replacing(self.contents, self._bind_again)

    @property
    def changes_job(self) -> bool:
        """Whether a job that runs has to go on with other names, queries or settings."""
        return any(not isinstance(event, Noticed) for event in self.events)

    def execute(self, text: str) -> list[Query]:
        """Carry out a script; gives the queries it registered, in the order they are written in."""
        statements = parse_script(text)
        before = self.contents.queries.by_name.keys() | ()
        found: dict[int, Query] = {}
        for at in script_order(statements, self.contents.catalog.knows):
            if (query := self.carry_out(statements[at], text)) is not None:
                found[at] = query
        self.replacing.settle()
        self._share()
        queries = (self.contents.queries.find(found[at].name) for at in sorted(found))
        registered = list(dict.fromkeys(query for query in queries if query is not None))
        self.contents.queries.put_in_order([q for q in registered if q.name.lower() not in before])
        return registered

    def _share(self) -> None:
        """Let queries be computed from others that contain them."""
        found = share(self.contents.queries, self.contents.settings, self._statistics)
        self.events = [
            QueryRegistered(found.get(event.query.name, event.query))
            if isinstance(event, QueryRegistered)
            else event
            for event in self.events
        ]

    @property
    def _statistics(self) -> Statistics:
        held = self.held()
        return NOTHING if held is None else held.statistics

    def add_stream(self, stream: Stream) -> None:
        """Declare a stream. Its source is opened here, so that a fault in it is raised here."""
        self.contents.catalog.check_free(stream.name)
        self._put_stream(stream)

    def look_into(self, stream: Stream, follow: bool) -> None:
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

    @property
    def files(self) -> TableFiles:
        """Where the contents of tables come from."""
        return TableFiles(self.base)

    def add_table(self, table: Table) -> None:
        """Declare a table, with what was fed to it before if a job runs."""
        self.contents.catalog.check_free(table.name)
        self._put_table(table)

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

    def carry_out(self, statement: Statement, text: str) -> Query | None:
        """Carry out one statement; gives the query it registered, if any."""
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
            case CreateStreamOver():
                self._tag_stream(statement)
            case CreateTable():
                self._declare_table(statement)
            case Modification():
                self._modify(statement, text)
            case CreateRoutine() | CreateForeignAggregate():
                self.events += define_routine(statement, text, self.replacing, self.files)
            case InsertQuery():
                return self._fill(statement, text)
            case CreateStreamAs() | CreateView():
                return self._name_query(statement, text)
            case QueryStatement():
                self.replacing.settle(names_used(statement))
                bare = made("", statement, text, self.replacing.names)
                query = contents.queries.name_bare(bare.query, contents.catalog)
                return self._register(bare.called(query))
            case Drop():
                self.events += drop(statement, contents)
            case Set(name=name, value=value):
                self.set(name, value)
            case Show(what=what, like=like):
                self.texts.append(shown(what, like, contents))
            case DescribeFunction(name=name):
                self.texts.append(described_function(name, contents.catalog))
            case Describe(name=name):
                self.replacing.settle([name.lower()])
                self.texts.append(described_name(name, contents.catalog))
            case ExplainRoutine(name=name):
                self.replacing.settle(names_used(statement))
                self.texts.append(explained_routine(name, contents))
            case Explain():
                self.texts.append(self._explain(statement, text))
        return None

    def _modify(self, statement: Modification, text: str) -> None:
        notices: list[Notice] = []
        self.contents.tables.modify(statement, text, notices, self.files)
        self.events += [Noticed(n.about(statement.name)) for n in dict.fromkeys(notices)]

    def _declare_stream(self, statement: CreateStream) -> None:
        there = self.replacing.there(statement)
        statement, text = self.completed(statement)
        if isinstance(statement, RegisterSource):
            stream = bind_source(statement, self.base)
        else:
            stream = bind_stream(statement, self.base)
        stream = replace(stream, inferred=text)
        if stream == there:
            return
        self._begin_again(there, statement)
        if isinstance(there, View):
            self.contents.queries.drop(there.name)
        try:
            self._put_stream(stream)
        except MillstreamError as error:
            raise error.at(fault_in(statement, error)) from None

    def _tag_stream(self, statement: CreateStreamOver) -> None:
        there = self.replacing.there(statement)
        tagged = bind_tagged(statement, self.replacing.names_for(statement))
        if tagged == there:
            self.replacing.waiting.pop(statement.name.lower(), None)
            put_tagged(tagged, self.contents.catalog)
            return
        self._begin_again(there, statement)
        if isinstance(there, View):
            self.contents.queries.drop(there.name)
        self.events.append(NameDefined("stream", tagged.name))
        self.events += [Noticed(notice) for notice in told_of(tagged)]
        put_tagged(tagged, self.contents.catalog)

    def _put_stream(self, stream: Stream) -> None:
        check_running(stream, "stream", self.running)
        if stream.source is not None:
            self.look_into(stream, self.follow)
        self.contents.catalog.put(stream)
        self.events.append(NameDefined("stream", stream.name))

    def _declare_table(self, statement: CreateTable) -> None:
        there = self.replacing.there(statement)
        statement, text = self.completed(statement)
        try:
            table = replace(bind_table(statement, self.files, self.base), inferred=text)
        except MillstreamError as error:
            if text is not None and error.detail is None:
                error.detail = f"Its columns were inferred: {text}"
            raise
        if there is not None and goes_on(table, there, self.running):
            return
        if table.changes is not None:
            changes = replace(table.changes, inferred=text)
            table = replace(table, changes=changes)
            try:
                self.look_into(changes, follow=False)
            except MillstreamError as error:
                raise error.at(fault_in(statement, error)) from None
        self._begin_again(there, statement)
        self._put_table(table)

    def _put_table(self, table: Table) -> None:
        if table.changes is not None:
            check_running(table.changes, "table", self.running)
        self.contents.catalog.put(table)
        self.contents.tables.open(table)
        self.events.append(NameDefined("table", table.name))
        if self.live is not None:
            self.live.recall(table, self.contents.tables)
            self.watched.append(table)

    def _begin_again(self, there: Entry | None, statement: Definition) -> None:
        """What the name was is no more, and what reads it is to be bound again."""
        if there is None:
            return
        self.replacing.begin(statement)
        self.events.append(NameDropped(kind_of(there), there.name))
        if isinstance(there, View):
            query = self.contents.queries.find(there.name)
            self.contents.catalog.forget_reads(there.name)
            self.events += [] if query is None else [QueryDropped(query)]

    def completed(self, statement: Declaration) -> tuple[Declaration, str | None]:
        """A declaration with its columns; if these were inferred, the text of all of it, too."""
        if is_whole(statement):
            return statement, None
        whole = with_columns(statement, self.base, self.remembered(statement.name))
        self.events.append(Noticed(whole.notice))
        return whole.statement, whole.text

    def _name_query(self, statement: CreateStreamAs | CreateView, text: str) -> Query:
        contents, name = self.contents, statement.name
        there, known = self.replacing.there(statement), contents.queries.find(name)
        if known is not None and there is None:
            raise MillstreamError(f'query "{name}" exists already', hint="Choose another name.")
        result = made(name, statement, text, self.replacing.names_for(statement))
        if known is not None and result.is_as(known):
            self.replacing.waiting.pop(name.lower(), None)
            return self._keep(result)
        self._begin_again(there, statement)
        self.events.append(NameDefined(result.reader.kind, name))
        return self._register(result)

    def _fill(self, statement: InsertQuery, text: str) -> Query:
        """Put one query more into a stream; what reads the stream is bound again."""
        self.replacing.settle([statement.name.lower()])
        there = fillable(statement, self.contents.catalog, text)
        result = with_insert(there, statement, text, self.replacing.names_for(statement))
        self.replacing.begin(statement)
        if (known := self.contents.queries.find(statement.name)) is not None:
            self.events.append(QueryDropped(known))
        return self._register(result)

    def _register(self, result: Made) -> Query:
        self.events.append(QueryRegistered(result.query))
        return self._keep(result)

    def _keep(self, result: Made) -> Query:
        """Hold a query, and what it reads."""
        catalog = self.contents.catalog
        self.contents.queries.add(result.query, result.statement)
        if result.view is not None:
            catalog.put(result.view)
        catalog.forget_reads(result.reader.name)
        catalog.note_reads(result.reader, result.reads)
        self._keep_late(result)
        return result.query

    def _keep_late(self, result: Made) -> None:
        """Hold the late rows of a filled stream as a query beside it, while there can be any."""
        queries, name = self.contents.queries, f"{result.query.name}.late"
        late, known = late_of(result, self.contents.catalog), queries.find(name)
        if known is not None and late is not None and known.plan == late.plan:
            return
        if known is not None:
            queries.drop(name)
            self.events.append(QueryDropped(known))
        if late is not None:
            queries.add(late, late.text)
            self.events.append(QueryRegistered(late))

    def _bind_again(self, reader: Reader) -> None:
        """Bind what reads a name that was replaced, as its statement says."""
        if reader.is_routine:
            routine_again(reader, self.replacing, self.files)
            return
        tagged = self.contents.catalog.entries.get(reader.name.lower())
        if isinstance(tagged, TaggedStream):
            put_tagged(tagged_again(tagged, self.replacing.names), self.contents.catalog)
            return
        known = self.contents.queries.by_name[reader.name.lower()]
        result = self._made_again(reader, known.statement)
        result = replace(result, query=replace(result.query, bare=known.query.bare))
        if result.is_as(known.query):
            self._keep(result)
            return
        self.events.append(QueryDropped(known.query))
        self._register(result)

    def _made_again(self, reader: Reader, text: str) -> Made:
        there = self.contents.catalog.entries.get(reader.name.lower())
        if isinstance(there, Filled):
            return filled_again(there, text, self.replacing.names)
        (statement,) = parse_script(text)
        assert isinstance(statement, WithQuery)
        return made(reader.name, statement, text, self.replacing.names)

    def _explain(self, statement: Explain, text: str) -> str:
        contents = self.contents
        self.replacing.settle(names_used(statement))
        self._share()
        explainer = Explainer(contents.settings, self.held(), tuple(contents.queries))
        if statement.query is not None:
            names = self.replacing.names
            bound = outermost(bind_query(statement.query, names, text), names)
            query = query_of("query", bound, "", contents.catalog)
            query = as_shared(query, contents.queries, contents.settings, self._statistics)
        elif asks_for_sharing(statement.name, contents):
            return "\n\n".join(explainer.explain(q, "sharing") for q in contents.queries)
        elif asks_for_the_legend(statement.name, contents):
            return whole_legend()
        else:
            query = found_query(statement.name or "", contents)
        stage = (statement.stage or "optimized").lower()
        if statement.form == "text":
            return explainer.explain(query, stage)
        return explainer.picture([query], stage, statement.form)
