"""Columns of files, inferred: from the footer of Parquet, from the first rows of CSV and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
)
from millstream.catalog import Fields
from millstream.connect.connector import Inferred
from millstream.connect.files.cell_types import fits_integer, type_of_cells
from millstream.connect.files.csv_source import CsvSource
from millstream.connect.files.json_row import is_deep
from millstream.connect.files.json_source import JsonSource
from millstream.connect.files.listing import Files
from millstream.connect.files.parquet_source import ParquetSource, schema_of
from millstream.connect.files.records import Records
from millstream.connect.files.text_source import TextSource
from millstream.connect.partitioned import PartitionedSource
from millstream.connect.source import ReadBatch, Source, error_rows
from millstream.errors import MillstreamError

SAMPLE = 10_000
"""How many rows of a text file are looked at."""

HEARTBEAT = "$heartbeat"
_LINE = "line"


def infer_from(source: Source, url: str) -> Inferred:
    """The columns of the first file of a source that was opened without any."""
    if isinstance(source, PartitionedSource):
        names = sorted(source.of.names())
        return infer_from(source.source(names[0]), url) if names else _nothing_in(url)
    match source:
        case ParquetSource():
            return _of_parquet(_first(source.files, url))
        case CsvSource():
            return _of_csv(source, _first(source.files, url))
        case JsonSource():
            return _of_json(source, _first(source.files, url))
    return _nothing_in(url)


def _first(files: Files, url: str) -> str:
    return files.first() or _nothing_in(url)


def _nothing_in(url: str) -> Any:
    raise MillstreamError(
        f'"{url}" has no file yet that columns could be inferred from',
        hint="Declare the columns: name (column type, …).",
    )


def _of_parquet(file: str) -> Inferred:
    found = [(field.name, _plain_type(field.type)) for field in schema_of(file)]
    return _chosen(found, file, None)


def _plain_type(kind: pa.DataType) -> pa.DataType | None:
    """The type of ours that holds what a Parquet column holds; None where none does."""
    tests = pa.types
    if tests.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if tests.is_decimal(kind):
        fits = kind.precision <= 38 and 0 <= kind.scale <= kind.precision
        return pa.decimal128(kind.precision, kind.scale) if fits else None
    for is_kind, ours in (
        (tests.is_boolean, BOOLEAN),
        (tests.is_integer, INTEGER),
        (tests.is_floating, DOUBLE),
        (tests.is_timestamp, TIMESTAMP),
        (tests.is_date, DATE),
        (tests.is_duration, INTERVAL),
        (tests.is_string, STRING),
        (tests.is_large_string, STRING),
        (tests.is_string_view, STRING),
        (tests.is_null, STRING),
    ):
        if is_kind(kind):
            return ours
    return None


def _of_csv(source: CsvSource, file: str) -> Inferred:
    if not source.header:
        raise MillstreamError(
            f'file "{os.path.basename(file)}" has no header row, so its columns have no names',
            hint="Declare the columns in the order in which they stand: name (column type, …).",
        )
    names = [name for name in source.header_names(file) if _can_be_named(name)]
    names = list({name.lower(): name for name in reversed(names)}.values())[::-1]
    texts = replace(source, schema=pa.schema([(name, STRING) for name in names]))
    parts, rows = _sample(texts, file, names)
    found: list[tuple[str, pa.DataType | None]] = []
    for i, name in enumerate(names):
        cells = pa.chunked_array([part.column(i) for part in parts], STRING).combine_chunks()
        found.append((name, type_of_cells(cells)))
    left_out = [name for name in source.header_names(file) if name not in names]
    return replace(_chosen(found, file, rows), left_out=tuple(left_out))


def _of_json(source: JsonSource, file: str) -> Inferred:
    lines = _Lines(source.name, pa.schema([(_LINE, STRING)]), source.files, source.max_row_bytes)
    parts, rows = _sample(lines, file, [_LINE])
    values: dict[str, list[Any]] = {}
    spelt: dict[str, str] = {}
    for part in parts:
        for line in part.column(0).to_pylist():
            for name, value in _object(line).items():
                values.setdefault(spelt.setdefault(name.lower(), name), []).append(value)
    found = [(name, _type_of_values(those)) for name, those in values.items()]
    return _chosen(found, file, rows)


class _Lines(JsonSource):
    """JSON lines as they stand, each the one cell of its row."""

    def parse(self, records: Records, file: str, seq: int, columns: Sequence[str]) -> ReadBatch:
        lines = pa.array([records.text(i) for i in range(len(records))], STRING)
        numbers = np.arange(seq, seq + len(records))
        return ReadBatch(pa.record_batch([lines], [_LINE]), numbers, error_rows([], [], []))


def _object(line: str) -> dict[str, Any]:
    """The object on a line; nothing for a line that will be a bad row, or is no row."""
    try:
        row = None if is_deep(line.encode()) else json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) and HEARTBEAT not in row else {}


def _type_of_values(values: list[Any]) -> pa.DataType | None:
    """The type of a key's values; None for objects and arrays."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds & {dict, list}:
        return None
    if kinds == {str}:
        return type_of_cells(pa.array(values, STRING), numbers=False)
    if kinds == {bool}:
        return BOOLEAN
    if kinds == {int}:
        return INTEGER if fits_integer(values) else STRING
    return DOUBLE if kinds and kinds <= {int, float} else STRING


def _sample(
    source: TextSource, file: str, columns: list[str]
) -> tuple[list[pa.RecordBatch], int | None]:
    """The first rows of a file, and how many there were, if those are not all."""
    source = replace(source, files=Files(file, False, source.files.format))
    position, ended, seen = source.start(), False, 0
    parts: list[pa.RecordBatch] = []
    while not ended and seen < SAMPLE:
        slices, position, ended = source.plan(position, SAMPLE - seen)
        read = [source.read(piece, columns) for piece in slices]
        parts += [batch.rows for batch in read]
        seen += sum(piece.length for piece in slices)
    if not sum(part.num_rows for part in parts):
        raise MillstreamError(
            f'file "{os.path.basename(file)}" has no rows that columns could be inferred from',
            hint="Declare the columns: name (column type, …).",
        )
    return parts, None if ended else seen


def _chosen(
    found: Sequence[tuple[str, pa.DataType | None]], file: str, rows: int | None
) -> Inferred:
    """The columns that have a type and a name of their own; the others are left out."""
    chosen: dict[str, tuple[str, pa.DataType]] = {}
    left_out = []
    for name, kind in found:
        if kind is None or not _can_be_named(name) or name.lower() in chosen:
            left_out.append(name)
        else:
            chosen[name.lower()] = name, kind
    columns: Fields = tuple(chosen.values())
    if not columns:
        raise MillstreamError(
            f'file "{os.path.basename(file)}" has no column that can be read',
            hint="Declare the columns: name (column type, …).",
        )
    return Inferred(columns, os.path.basename(file), rows, tuple(left_out))


def _can_be_named(name: str) -> bool:
    return bool(name.strip()) and not name.startswith("#") and len(name.encode()) <= 200


__all__ = ["SAMPLE", "infer_from"]
