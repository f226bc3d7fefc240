"""Results on standard output: lines for programs, tables for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import no_rows
from millstream.algebra.types import is_numeric
from millstream.cli.terminal import screen
from millstream.connect import encode, header
from millstream.connect.cells import plain
from millstream.engine.outputs import unique_names

MOST_ROWS = 40
"""Rows of one result that a terminal shows of one batch; the rest is counted."""

NAME = "query"
"""The first key of JSON lines, where there are several results: whose row it is."""


class Writing(Protocol):
    """How results are written: `head` before the rows of a result, `body` for some of them."""

    def head(self, name: str, schema: pa.Schema) -> bytes: ...

    def body(self, name: str, batch: pa.RecordBatch) -> bytes: ...


class Printer:
    """A receiver that prints results on standard output, whole unless that is a terminal.

    `gone` turns true when nobody reads the output any more: then nothing more is printed, and the
    run may end.
    """

    def __init__(self, schemas: Mapping[str, pa.Schema], format: str) -> None:
        self.schemas = schemas
        self.gone = False
        self._headed: set[str] = set()
        self._writing: Writing = Tables() if format == "table" else Lines(format, len(schemas) == 1)

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        if name in self.schemas and batch.num_rows:
            self._print(name, batch)

    def whole(self, name: str, content: pa.RecordBatch) -> None:
        if name in self.schemas:
            self._print(name, content)

    def sizes(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        """Results without rows have a head, too."""
        for name, schema in self.schemas.items():
            if name not in self._headed:
                self._print(name, no_rows(schema))

    def _print(self, name: str, batch: pa.RecordBatch) -> None:
        most = MOST_ROWS if sys.stdout.isatty() else batch.num_rows
        text = self._head(name) + self._writing.body(name, batch.slice(0, most))
        if batch.num_rows > most:
            more = f"… and {batch.num_rows - most:,} more rows: --out DIR or a pipe has them all\n"
            text += more.encode()
        self._write(text)

    def _head(self, name: str) -> bytes:
        if name in self._headed:
            return b""
        self._headed.add(name)
        return self._writing.head(name, self.schemas[name])

    def _write(self, text: bytes) -> None:
        if self.gone:
            return
        if not sys.stdout.isatty():
            screen.progress("")  # whoever reads the pipe may write to the same terminal
        try:
            with screen:
                sys.stdout.flush()
                sys.stdout.buffer.write(text)
                sys.stdout.buffer.flush()
        except BrokenPipeError:
            self.gone = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Lines:
    """CSV or JSON lines. Of several results every line says whose it is: the first cell of CSV, of
    the head as well, or the first key."""

    def __init__(self, format: str, alone: bool) -> None:
        self.format, self.alone = format, alone

    def head(self, name: str, schema: pa.Schema) -> bytes:
        if self.alone or self.format != "csv":
            return header(schema, self.format)
        return header(schema.insert(0, pa.field(name, pa.string())), self.format)

    def body(self, name: str, batch: pa.RecordBatch) -> bytes:
        if not self.alone:
            names = pa.array([name]).take(pa.array([0] * batch.num_rows, pa.int32()))
            columns = [NAME, *batch.schema.names]
            batch = pa.RecordBatch.from_arrays([names, *batch.columns], names=columns)
        if self.format != "csv":
            batch = batch.rename_columns(unique_names(batch.schema.names))
        return encode(batch, self.format)


class Tables:
    """Columns below their names. Rows of the same result go on below those before them, while they
    fit; NULL is shown as nothing."""

    def __init__(self) -> None:
        self._widths: dict[str, list[int]] = {}
        self._last = ""

    def head(self, name: str, schema: pa.Schema) -> bytes:
        return b""

    def body(self, name: str, batch: pa.RecordBatch) -> bytes:
        cells = [_one_line(plain(column).fill_null("")) for column in batch.columns]
        needed = [
            max(len(title), pc.max(pc.utf8_length(column)).as_py() or 0)
            for title, column in zip(batch.schema.names, cells)
        ]
        known = self._widths.get(name, [0] * len(needed))
        widths = [max(pair) for pair in zip(known, needed)]
        text = b""
        if self._last != name or widths != known:
            text = _top(name, batch.schema, widths, b"\n" if self._last else b"")
        self._widths[name], self._last = widths, name
        if not batch.num_rows:
            return text + b"(no rows)\n"
        padded = [
            (pc.utf8_lpad if is_numeric(field.type) else pc.utf8_rpad)(column, width)
            for field, column, width in zip(batch.schema, cells, widths)
        ]
        lines = pc.utf8_rtrim_whitespace(pc.binary_join_element_wise(*padded, "  "))
        return text + "\n".join([*lines.to_pylist(), ""]).encode()


def _top(name: str, schema: pa.Schema, widths: list[int], before: bytes) -> bytes:
    """The name of the result, and those of its columns over lines."""
    titles = [
        f.name.rjust(width) if is_numeric(f.type) else f.name.ljust(width)
        for f, width in zip(schema, widths)
    ]
    rule = "  ".join("-" * width for width in widths)
    return before + f"{name}\n{'  '.join(titles).rstrip()}\n{rule}\n".encode()


def _one_line(cells: pa.Array) -> pa.Array:
    for written, shown in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        cells = pc.replace_substring(cells, written, shown)
    return cells
