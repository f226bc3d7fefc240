"""Whether the files of a source lie in the order of their times, as their beginnings tell."""

from __future__ import annotations

import os
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.catalog import Stream
from millstream.connect.cells import plain
from millstream.connect.files.listing import Files
from millstream.connect.files.parquet_source import ParquetSource
from millstream.connect.files.text_source import TextSource
from millstream.connect.source import Source
from millstream.errors import MillstreamError, Notice

MOST_FILES = 100
"""How many files are looked into, so that a folder of thousands is declared at once."""


def order_notice(source: Source, stream: Stream) -> Notice | None:
    """What to say where a file begins earlier than the one that is read before it.

    Its first row then arrives late. Where all names have numbers, or times in them, this does not
    happen; otherwise the order of the names is a guess.
    """
    if not isinstance(source, (TextSource, ParquetSource)) or not source.files.is_many:
        return None
    if stream.order_by is None or stream.is_internal:
        return None
    before: tuple[str, int] | None = None
    for file in source.files.all()[:MOST_FILES]:
        first = _first_time(source, file, stream.order_by)
        if first is None:
            continue
        if before is not None and first * stream.scale < before[1] * stream.scale - stream.slack:
            return _notice(stream, stream.order_by, (file, first), before)
        before = file, first
    return None


def _notice(stream: Stream, column: str, here: tuple[str, int], before: tuple[str, int]) -> Notice:
    kind = stream.schema.field(column).type
    begins, earlier = plain(pa.array([here[1], before[1]]).cast(kind)).to_pylist()
    name, other = os.path.basename(here[0]), os.path.basename(before[0])
    return Notice(
        f'the files of "{stream.name}" are read in the order of their names, and "{name}" begins '
        f'at {begins}, before "{other}" ({earlier}), which is read first: its rows arrive late',
        "Number the files in the order of time, or let SLACK span them.",
    )


def _first_time(source: TextSource | ParquetSource, file: str, column: str) -> int | None:
    """The time of the first row of a file, of Parquet the least of its first row group; None where
    that cannot be told."""
    try:
        if isinstance(source, ParquetSource):
            return _least(file, column, source.schema.field(column).type)
        alone = replace(source, files=Files(file, False, source.files.format))
        slices, _, _ = alone.plan(alone.start(), 1)
        for piece in slices:
            rows = alone.read(piece, [column]).rows.column(0).drop_null()
            return int(rows.cast(pa.int64())[0].as_py()) if len(rows) else None
    except (MillstreamError, pa.ArrowException, OSError):
        pass  # raised when the turn of the file comes
    return None


def _least(file: str, column: str, kind: pa.DataType) -> int | None:
    opened = pq.ParquetFile(file)
    if not opened.metadata.num_row_groups:
        return None
    group = opened.metadata.row_group(0)
    for i in range(group.num_columns):
        chunk = group.column(i)
        if chunk.path_in_schema == column and chunk.statistics and chunk.statistics.has_min_max:
            least = pa.scalar(chunk.statistics.min, opened.schema_arrow.field(column).type)
            return int(least.cast(kind).cast(pa.int64()).as_py())
    return None
