"""The formats of files, and the options of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.catalog import Stream
from millstream.connect.files.csv_source import CsvSource
from millstream.connect.files.json_source import JsonSource
from millstream.connect.files.listing import FORMATS, Files, format_of
from millstream.connect.files.parquet_source import ParquetSource
from millstream.connect.files.text_source import MAX_ROW_BYTES
from millstream.connect.options import CHARACTER, TEXT, TRUTH, Option, Options, whole, words
from millstream.connect.source import Foreseeing, ReadBatch, Slice, Source
from millstream.connect.times import ISO, TIMESTAMP_OPTION

MOST_BYTES = 1 << 30
FORMAT = Option(
    "format",
    words(*FORMATS, same={"json": "jsonl", "ndjson": "jsonl"}),
    "`csv`, `jsonl` or `parquet`",
    "csv",
    otherwise="what the ending says",
)
PARTITIONS = Option(
    "partitions",
    words("folders"),
    "`folders`: every folder in the source is a partition",
    "folders",
    otherwise="all files are one sequence",
)
HEADER = Option(
    "header", TRUTH, "whether the first row has the names of the columns", "false", "true"
)
DELIMITER = Option("delimiter", CHARACTER, "what stands between cells; also `tab`", ";", ",")
LONGEST_ROW = Option(
    "max_row_bytes",
    whole(1, MOST_BYTES, f"not a number of bytes up to {MOST_BYTES:,}"),
    "a longer row is a bad row",
    str(MAX_ROW_BYTES),
    str(MAX_ROW_BYTES),
)
NULL = Option(
    "null",
    TEXT,
    "what a cell without quotes is NULL for, beside nothing at all",
    "NA",
    otherwise="only an empty cell is NULL",
)
OPTIONS = {
    "csv": Options(
        "a csv source",
        (FORMAT, HEADER, DELIMITER, NULL, TIMESTAMP_OPTION, LONGEST_ROW, PARTITIONS),
    ),
    "jsonl": Options("a jsonl source", (FORMAT, TIMESTAMP_OPTION, LONGEST_ROW, PARTITIONS)),
    "parquet": Options("a parquet source", (FORMAT, TIMESTAMP_OPTION, PARTITIONS)),
}
SETS = tuple(OPTIONS.values())


def open_files(files: Files, stream: Stream, options: Mapping[str, str]) -> Source:
    """The source of files, by their format; one that waits while a followed folder is empty."""
    assert stream.source is not None
    said = FORMAT.kind.read(options["format"]) if "format" in options else None
    format = format_of(files, stream.source, said)
    if format is None:
        return WaitingSource(files, stream, options)
    given = OPTIONS[format].read(options)
    files = Files(files.path, files.follow, format)
    times = given["timestamp"] or ISO
    if format == "parquet":
        return ParquetSource(stream.name, stream.schema, files, times)
    longest = given["max_row_bytes"]
    if format == "jsonl":
        return JsonSource(stream.name, stream.schema, files, longest, times, stream.scale)
    return CsvSource(
        stream.name,
        stream.schema,
        files,
        longest,
        times,
        given["delimiter"],
        given["header"],
        given["null"],
    )


@dataclass(frozen=True)
class WaitingSource:
    """A followed folder with nothing in it yet: its first file will decide its format."""

    files: Files
    stream: Stream
    options: Mapping[str, str]

    def start(self) -> dict[str, Any]:
        return {}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        source = self._opened()
        if isinstance(source, WaitingSource):
            return [], position, False
        return source.plan(position or source.start(), rows)

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        return self._opened().read(slice, columns)

    def largest(self, slice: Slice, column: str) -> int | None:
        source = self._opened()
        assert isinstance(source, Foreseeing), "only such a source plans several slices"
        return source.largest(slice, column)

    def _opened(self) -> Source:
        return open_files(self.files, self.stream, self.options)
