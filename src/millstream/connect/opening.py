"""From a declared stream to its source."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from millstream.catalog import Stream
from millstream.connect.connector import Inferred
from millstream.connect.files.formats import WaitingSource
from millstream.connect.files.parquet_source import ParquetSource
from millstream.connect.files.text_source import TextSource
from millstream.connect.partitioned import PartitionedSource
from millstream.connect.registry import connector_of, through_spark
from millstream.connect.source import Source
from millstream.connect.statements import spool_of
from millstream.errors import MillstreamError

__all__ = ["infer_columns", "is_waiting", "open_source", "open_stream", "spool_of", "stream_of"]


def open_stream(stream: Stream, follow: bool) -> Source:
    """The source of a declared stream, or of the modifications of a table."""
    assert stream.source is not None
    spark = through_spark(stream.name, stream.order_by)
    return connector_of(stream.source, spark).open(stream, follow)


def is_waiting(source: Source) -> bool:
    """Whether a source that is followed has no file yet."""
    match source:
        case PartitionedSource():
            return not source.of.names()
        case WaitingSource() | TextSource() | ParquetSource():
            return source.files.first() is None
    return False


def infer_columns(stream: Stream) -> Inferred:
    """The columns that the source of a stream has, for one that is declared without any."""
    assert stream.source is not None
    infer = connector_of(stream.source).infer
    if infer is None:
        raise MillstreamError(
            f'the columns of "{stream.name}" cannot be inferred from its source',
            detail="They are inferred from CSV, JSON lines and Parquet files only.",
            hint=f"Declare them: {stream.name} (column type, …).",
        )
    return infer(stream)


def open_source(
    url: str, name: str, schema: pa.Schema, options: Mapping[str, str], base: str, follow: bool
) -> Source:
    """The source of a stream that is given by its parts.

    Raises `MillstreamError` for what cannot be found or read; of a folder only the first file is
    looked into, the others when their turn comes.
    """
    return open_stream(stream_of(url, name, schema, options, base), follow)


def stream_of(
    url: str, name: str, schema: pa.Schema, options: Mapping[str, str], base: str
) -> Stream:
    """A stream of nothing but columns and a source."""
    given = tuple((key.lower(), str(value)) for key, value in options.items())
    columns = tuple((field.name, field.type) for field in schema)
    return Stream(name, columns, source=url, options=given, base=base)
