"""From a declared stream to its source."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from millstream.catalog import Stream
from millstream.connect.registry import connector_of, through_spark
from millstream.connect.source import Source
from millstream.connect.statements import spool_of

__all__ = ["open_source", "open_stream", "spool_of", "stream_of"]


def open_stream(stream: Stream, follow: bool) -> Source:
    """The source of a declared stream, or of the modifications of a table."""
    assert stream.source is not None
    spark = through_spark(stream.name, stream.order_by)
    return connector_of(stream.source, spark).open(stream, follow)


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
