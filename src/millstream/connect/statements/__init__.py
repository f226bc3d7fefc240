"""Changes of tables that statements make, before and during a run."""

from __future__ import annotations

from millstream.algebra.changes import no_rows
from millstream.catalog import STATEMENTS as URL
from millstream.catalog import Stream
from millstream.connect.connector import Connector
from millstream.connect.source import Source
from millstream.connect.statements.statement_source import StatementSource
from millstream.files import Folder, open_folder


def open_statements(stream: Stream, follow: bool) -> Source:
    rows = no_rows(stream.schema) if stream.rows is None else stream.rows
    goes_on = follow and stream.of is None
    return StatementSource(stream.name, stream.schema, rows, spool_of(stream), goes_on)


def spool_of(stream: Stream) -> Folder | None:
    """The folder that takes the changes of a table while a job runs."""
    if stream.source != URL or not stream.base:
        return None
    return open_folder(stream.base).folder(f"{stream.name}.changes")


STATEMENTS = Connector("statements", (URL.rstrip(":"),), "", (), open_statements)
