"""Tables in PostgreSQL."""

from __future__ import annotations

from millstream.catalog import Stream
from millstream.connect.connector import Connector
from millstream.connect.postgres.table import OPTIONS, SCHEMES, PostgresTable
from millstream.connect.source import Source
from millstream.errors import MillstreamError


def refuse_stream(stream: Stream, follow: bool) -> Source:
    raise MillstreamError(
        "a PostgreSQL source is for tables, not for streams", hint="Write CREATE TABLE."
    )


def open_table(stream: Stream) -> PostgresTable:
    assert stream.source is not None
    return PostgresTable.of(stream.source, dict(stream.options), stream.name)


POSTGRES = Connector("postgres", SCHEMES, "", (OPTIONS,), refuse_stream, open_table)
