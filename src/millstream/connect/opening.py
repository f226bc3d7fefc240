"""From a SOURCE clause to a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.algebra.changes import no_rows
from millstream.catalog import STATEMENTS, Stream
from millstream.connect.csv_source import CsvSource
from millstream.connect.files import Files, format_of, resolve
from millstream.connect.generator import open_generator
from millstream.connect.json_source import JsonSource
from millstream.connect.parquet_source import ParquetSource
from millstream.connect.postgres import is_postgres
from millstream.connect.source import Foreseeing, ReadBatch, Slice, Source
from millstream.connect.statement_source import StatementSource
from millstream.connect.text_source import MAX_ROW_BYTES
from millstream.errors import MillstreamError, closest

OPTIONS = {
    "csv": ("format", "header", "delimiter", "max_row_bytes"),
    "jsonl": ("format", "max_row_bytes"),
    "parquet": ("format",),
    "generator": (),
}


def open_stream(stream: Stream, follow: bool) -> Source:
    """The source of a declared stream, or of the modifications of a table."""
    assert stream.source is not None
    if stream.source == STATEMENTS:
        rows = no_rows(stream.schema) if stream.rows is None else stream.rows
        goes_on = follow and stream.of is None
        return StatementSource(stream.name, stream.schema, rows, spool_of(stream), goes_on)
    options = dict(stream.options)
    return open_source(stream.source, stream.name, stream.schema, options, stream.base, follow)


def spool_of(stream: Stream) -> Path | None:
    """The file that takes the changes of a table while a job runs."""
    if stream.source != STATEMENTS or not stream.base:
        return None
    return Path(stream.base) / f"{stream.name}.changes"


def open_source(
    url: str, name: str, schema: pa.Schema, options: Mapping[str, str], base: str, follow: bool
) -> Source:
    """The source of a stream: files relative to `base`, or a generator.

    Raises `MillstreamError` for what cannot be found or read; of a folder only the first file is
    looked into, the others when their turn comes.
    """
    options = {key.lower(): str(value) for key, value in options.items()}
    scheme, colon, _ = url.partition(":")
    if scheme == "generate":
        _check_options(options, "generator")
        return open_generator(url, name, schema, follow)
    if is_postgres(url):
        raise MillstreamError(
            "a PostgreSQL source is for tables, not for streams", hint="Write CREATE TABLE."
        )
    if colon and scheme.isalpha() and len(scheme) > 1 and scheme != "file":
        meant = closest(scheme, ("generate", "file"))
        raise MillstreamError(
            f'source "{url}" is of an unknown kind',
            hint=f"Did you mean {meant}:?"
            if meant
            else "Use a file, a folder, a pattern, or generate:auction.",
        )
    files = resolve(url, base, follow, options.get("format"))
    return _open_files(files, url, name, schema, options)


@dataclass(frozen=True)
class WaitingSource:
    """A followed folder with nothing in it yet: its first file will tell its format."""

    files: Files
    url: str
    name: str
    schema: pa.Schema
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
        return _open_files(self.files, self.url, self.name, self.schema, self.options)


def _open_files(
    files: Files, url: str, name: str, schema: pa.Schema, options: Mapping[str, str]
) -> Source:
    format = format_of(files, url, options)
    if format is None:
        return WaitingSource(files, url, name, schema, options)
    _check_options(options, format)
    files = Files(files.path, files.follow, format)
    if format == "parquet":
        return ParquetSource(name, schema, files)
    longest = _bytes(options.get("max_row_bytes", str(MAX_ROW_BYTES)))
    if format == "jsonl":
        return JsonSource(name, schema, files, longest)
    return CsvSource(name, schema, files, longest, _delimiter(options), _header(options))


def _check_options(options: Mapping[str, str], kind: str) -> None:
    for option in options:
        if option not in OPTIONS[kind]:
            known = OPTIONS[kind]
            meant = closest(option, known)
            these = f"A {kind} source has {', '.join(known)}." if known else "It has none."
            raise MillstreamError(
                f'option "{option}" of a {kind} source does not exist',
                hint=f"Did you mean {meant}?" if meant else these,
            )


def _bytes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1 << 30:
        raise MillstreamError(
            f'option "max_row_bytes" is "{text}", not a number of bytes up to 1,073,741,824',
            hint=f"Write max_row_bytes = '{MAX_ROW_BYTES}'.",
        )
    return int(text)


def _delimiter(options: Mapping[str, str]) -> str:
    text = options.get("delimiter", ",")
    text = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(text) != 1 or not text.isascii() or text in '"\r\n':
        raise MillstreamError(
            f'option "delimiter" is "{text}", not one character', hint="Write delimiter = ';'."
        )
    return text


def _header(options: Mapping[str, str]) -> bool:
    text = options.get("header", "true").lower()
    if text not in ("true", "false"):
        raise MillstreamError(
            f'option "header" is "{text}", neither true nor false', hint="Write header = 'false'."
        )
    return text == "true"
