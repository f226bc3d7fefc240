"""INSERT INTO a stream: which streams queries can fill, and what they are then."""

from __future__ import annotations

from dataclasses import replace

from millstream.bind import bind_put
from millstream.catalog import Catalog, Entry, Filled, Put, Stream, TaggedStream, View, kind_of
from millstream.database.made import Made, made_filled, reads_of
from millstream.errors import MillstreamError
from millstream.lang import InsertQuery, parse_script, place_of


def fillable(statement: InsertQuery, catalog: Catalog, text: str) -> Stream | Filled:
    """The stream that a query is to fill; an error about anything else."""
    entry = catalog.entries.get(statement.name.lower())
    match entry:
        case None:
            error, name = catalog.missing("stream", statement.name), statement.name
            if not str(error.hint).startswith("Did you"):
                error.hint = f"Declare it, CREATE STREAM {name} (column type, …), or write CREATE "
                error.hint += f"STREAM {name} AS SELECT …."
            raise error
        case Filled() | Stream(source=None, foreign=False):
            _check_time(entry)
            return entry
    raise _not_fillable(entry, statement, text)


def with_insert(
    there: Stream | Filled, statement: InsertQuery, text: str, catalog: Catalog
) -> Made:
    """The stream with one query more that fills it."""
    stream, puts = (there.declared, there.puts) if isinstance(there, Filled) else (there, ())
    return made_filled(stream, (*puts, _put(statement, stream, catalog, text)), catalog)


def filled_again(there: Filled, text: str, catalog: Catalog) -> Made:
    """The stream with its queries bound again, since names mean something else."""
    puts: list[Put] = []
    for statement in parse_script(text):
        assert isinstance(statement, InsertQuery)
        puts.append(_put(statement, there.declared, catalog, text))
    return made_filled(there.declared, tuple(puts), catalog)


def _put(statement: InsertQuery, stream: Stream, catalog: Catalog, text: str) -> Put:
    put = bind_put(statement, stream, catalog, text)
    return replace(put, reads=reads_of(put.reads, statement, catalog))


def _check_time(entry: Stream | Filled) -> None:
    """Rows come as the queries put them in: what waits or looks at the clock belongs to sources."""
    stream = entry.declared if isinstance(entry, Filled) else entry
    wrong = [
        word
        for word, is_set in (
            ("SLACK", stream.slack != 0),
            ("option ahead", stream.ahead is not None),
            ("option idle", stream.idle is not None),
            ("option silence", stream.by_clock),
        )
        if is_set
    ]
    if wrong:
        raise MillstreamError(
            f'stream "{stream.name}" is filled by a query, and takes no {wrong[0]}',
            hint="Give it to the streams that the query reads.",
        )


def _not_fillable(entry: Entry, statement: InsertQuery, text: str) -> MillstreamError:
    kind, name = kind_of(entry), entry.name
    if isinstance(entry, TaggedStream):
        return MillstreamError(
            f'stream "{name}" is over "{entry.over}", and takes no INSERT',
            hint="INSERT into a stream that is declared with its columns.",
        )
    if isinstance(entry, View):
        return MillstreamError(
            f'{kind} "{name}" is defined by a query, and takes no INSERT',
            hint=f"Declare its columns, CREATE STREAM {name} (column type, …), and write INSERT "
            "for each query.",
        )
    if isinstance(entry, Stream):
        return MillstreamError(
            f'stream "{name}" has a source of its own, and takes no INSERT',
            hint="Declare another stream, and INSERT both into it.",
        )
    return MillstreamError(
        f'INSERT into table "{name}" takes no query',
        place_of(statement.query, text),
        hint="List rows after VALUES, or write CREATE VIEW name AS SELECT ….",
    )
