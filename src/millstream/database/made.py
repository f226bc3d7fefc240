"""What statements with a query make: a query to be registered, and the entry of its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from millstream.bind import Bound, bind_derived, bind_query, filled, outermost
from millstream.bind.names.script_order import names_used
from millstream.catalog import Catalog, Entry, Filled, Put, Reader, Stream, Table, View
from millstream.database.registry import query_of
from millstream.engine.outputs import Query
from millstream.errors import MillstreamError
from millstream.lang import CreateStreamAs, CreateView, InsertQuery, QueryStatement, to_sql

WithQuery = QueryStatement | CreateStreamAs | CreateView


@dataclass(frozen=True)
class Made:
    """A bound query, who it is to others, what it reads, and the entry of its name if it has one.

    `statement` is the text it was made from.
    """

    query: Query
    reader: Reader
    reads: tuple[str, ...]
    statement: str
    view: View | None = None

    def called(self, query: Query) -> Made:
        """The same under the name that a bare query was given."""
        return replace(self, query=_about(query), reader=Reader("query", query.name))

    def is_as(self, known: Query) -> bool:
        """Whether a query of that name computes the same."""
        mine = self.query
        return (mine.name, mine.plan, mine.form) == (known.name, known.plan, known.form)


def made(name: str, statement: WithQuery, text: str, catalog: Catalog) -> Made:
    """Bind the query of a statement that stands in `text`; a bare one may get its name later."""
    said = text[statement.place.start : statement.place.end]
    if isinstance(statement, QueryStatement):
        bound = outermost(bind_query(statement.query, catalog, text), catalog)
        reads = reads_of(bound.reads, statement, catalog)
        query = _reading(query_of(name, bound, to_sql(statement.query), catalog), reads)
        return Made(_about(query) if name else query, Reader("query", name), reads, said)
    derived, query_text = bind_derived(statement, catalog, text)
    bound = outermost(derived, catalog)
    kind = "stream" if isinstance(statement, CreateStreamAs) else "view"
    reads = reads_of(bound.reads, statement, catalog)
    query = _about(_reading(query_of(name, bound, query_text, catalog), reads))
    view = View(name, bound.plan, query_text, kind)
    return Made(query, Reader(kind, name), reads, said, view)


def made_filled(stream: Stream, puts: tuple[Put, ...], catalog: Catalog) -> Made:
    """The stream that INSERT statements fill, as a query, with the entry of its name."""
    entry = filled(stream, puts, catalog)
    reads = tuple(dict.fromkeys(name for put in puts for name in put.reads))
    notices = tuple(dict.fromkeys(notice for put in puts for notice in put.notices))
    bound = Bound(entry.plan, None, notices, reads)
    query = _about(_reading(query_of(entry.name, bound, entry.text, catalog), reads))
    return Made(query, Reader("stream", entry.name), reads, entry.text, entry)


def late_of(made_stream: Made, catalog: Catalog) -> Query | None:
    """The query of a filled stream's late rows, if there can be any."""
    entry = made_stream.view
    if not isinstance(entry, Filled) or not entry.may_miss or entry.late is None:
        return None
    bound = Bound(entry.late, None, (), made_stream.reads)
    name = f"{entry.name}.late"
    return _reading(query_of(name, bound, f"SELECT * FROM {entry.name}.late", catalog), bound.reads)


def check_running(stream: Stream, kind: str, running: Mapping[str, Stream]) -> None:
    """A stream that a job reads cannot be another one: its positions and its time would not fit."""
    known = running.get(stream.name)
    if known is not None and known.declared != stream.declared:
        raise MillstreamError(
            f'{kind} "{stream.name}" cannot be declared differently while the job runs',
            hint=f"Stop the job first, or give the new {kind} another name.",
        )


def goes_on(table: Table, there: Entry, running: Mapping[str, Stream]) -> bool:
    """Whether a table that changes in a running job is declared as it was: then it keeps its rows.

    Any other table begins with what its declaration gives.
    """
    if not isinstance(there, Table) or there.changes is None or there.name not in running:
        return False
    kept = replace(table, content=there.content, changes=table.changes or there.changes)
    return kept == there


def reads_of(
    names: tuple[str, ...], statement: WithQuery | InsertQuery, catalog: Catalog
) -> tuple[str, ...]:
    """The names that a query reads, and the routines that it calls."""
    routines = (name for name in names_used(statement) if catalog.routine(name) is not None)
    return (*names, *(name for name in routines if "()" in name))


def _reading(query: Query, reads: tuple[str, ...]) -> Query:
    """The query with the names that it reads."""
    return replace(query, reads=tuple(dict.fromkeys(name.lower() for name in reads)))


def _about(query: Query) -> Query:
    """The query with notices that name it."""
    return replace(query, notices=tuple(n.about(query.name) for n in query.notices))
