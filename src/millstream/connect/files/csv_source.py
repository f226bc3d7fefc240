"""CSV files: a header row, cells by name, an empty cell is NULL."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.csv

from millstream.connect.files.packed import read_range
from millstream.connect.files.records import (
    BYTE_ORDER_MARK,
    STRAY_QUOTE,
    Cut,
    Records,
    cut_records,
)
from millstream.connect.files.text_source import Part, TextSource, good_part
from millstream.errors import MillstreamError, closest


@dataclass(frozen=True)
class CsvSource(TextSource):
    """CSV records: RFC 4180, a quoted cell may hold line ends, the line end is `\\n` or `\\r\\n`.

    With a header the columns are found by name, in any case and order, and others are ignored;
    without one by position. An empty cell is NULL, and so is one that is the text `null`, unless it
    is quoted: a quoted empty cell is an empty string (NULL for other types, and in a file of one
    column, where an empty line cannot be it). A row with too few
    or too many cells, or a cell that does not convert, is bad. Blank lines are skipped.
    Times with a zone become UTC.
    """

    delimiter: str = ","
    header: bool = True
    null: str | None = None
    _headers: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "quoting", ord(self.delimiter))
        first = self.files.first()
        if first is not None and self.header and self._head(first, not self.files.follow):
            self._names(first)

    def header_names(self, file: str) -> tuple[str, ...]:
        """The names in the header of a file."""
        return self._names(file)

    def _next(self, file: str, offset: int, rows: int, final: bool) -> Cut | None:
        if offset == 0 and self.header:
            head = self._head(file, final)
            if head is None:
                return None
            self._names(file)
            return Cut(head.end, 0)
        return super()._next(file, offset, rows, final)

    def fast(self, records: Records, low: int, high: int, file: str) -> Part | None:
        if records.stray is not None and records.stray[low:high].any():
            return None
        cells = self._cells(file)
        wrong: dict[int, str] = {}

        def note(row: pyarrow.csv.InvalidRow) -> str:
            wrong[low + row.number - 1] = _cell_count(row.expected_columns, row.actual_columns)
            return "skip"

        data = records.piece(low, high)
        try:
            if _has_lone_return(str(data, "utf-8")) and high - low > 1:
                return None
            table = self._split(data, cells, note, file)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            return None
        if table.num_rows + len(wrong) != high - low:
            return None
        index = np.setdiff1d(np.arange(low, high), np.fromiter(wrong, np.int64, len(wrong)))
        texts = [_whole(table.column(f"{cell}")) for cell in cells]
        done = [self.times.from_text(text, type) for text, type in zip(texts, self.schema.types)]

        def why(column: int, row: int) -> str:
            return self.times.refusal(
                self.schema.names[column], texts[column][row].as_py(), self.schema.types[column]
            )

        return good_part(index, [c.values for c in done], [c.bad for c in done], why, wrong)

    def slow(self, records: Records, low: int, high: int, file: str) -> Part:
        raw = records.raw(low)
        stray = records.stray is not None and records.stray[low]
        try:
            raw.decode("utf-8")
            reason = STRAY_QUOTE if stray else "the row cannot be split into cells"
        except UnicodeDecodeError as error:
            reason = f"the row is not UTF-8: byte 0x{raw[error.start]:02x} at {error.start + 1:,}"
        empty = [pa.array([], type) for type in self.schema.types]
        return Part(np.zeros(0, np.int64), empty, {low: reason})

    def _split(self, data: memoryview, cells: list[int], note: object, file: str) -> pa.Table:
        """The needed cells as text."""
        width = len(self._names(file)) if self.header else len(self.schema)
        return pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(
                use_threads=False,
                block_size=max(len(data), 1) + 1,
                column_names=[f"{i}" for i in range(width)],
            ),
            pyarrow.csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            pyarrow.csv.ConvertOptions(
                column_types={f"{i}": pa.string() for i in cells},
                include_columns=sorted({f"{i}" for i in cells}),
                null_values=["", *([] if self.null is None else [self.null])],
                strings_can_be_null=True,
                quoted_strings_can_be_null=width == 1,
            ),
        )

    def _cells(self, file: str) -> list[int]:
        """Where each declared column stands in a row of the file."""
        if not self.header:
            return list(range(len(self.schema)))
        places = {name.lower(): i for i, name in reversed(list(enumerate(self._names(file))))}
        return [places[name.lower()] for name in self.schema.names]

    def _names(self, file: str) -> tuple[str, ...]:
        """The header of a file, with every declared column in it."""
        if file not in self._headers:
            head = self._head(file, final=True) or Cut(0, 0)
            names = _header(read_range(file, 0, head.end).tobytes(), self.delimiter, file)
            _check(self.schema.names, names, file, self.delimiter)
            self._headers[file] = names
        return self._headers[file]

    def _head(self, file: str, final: bool) -> Cut | None:
        head = cut_records(file, 0, 1, self.quoting, final, self.max_row_bytes)
        if head is not None and head.refused:
            raise MillstreamError(
                f'the header of "{os.path.basename(file)}" cannot be read: {head.refused}',
                hint="If it has no header row, say WITH (header = 'false').",
            )
        return head if head and head.rows else None


def _header(data: bytes, delimiter: str, file: str) -> tuple[str, ...]:
    try:
        text = data.removeprefix(BYTE_ORDER_MARK).decode("utf-8").strip("\r\n")
    except UnicodeDecodeError:
        raise MillstreamError(
            f'the header of "{os.path.basename(file)}" is not UTF-8',
            hint="Save the file as UTF-8 text.",
        ) from None
    try:
        return tuple(name.strip() for name in next(csv.reader([text], delimiter=delimiter)))
    except csv.Error as error:
        raise MillstreamError(
            f'the header of "{os.path.basename(file)}" cannot be read: {error}'
        ) from None


def _check(declared: list[str], names: tuple[str, ...], file: str, delimiter: str) -> None:
    known = {name.lower() for name in names}
    for column in declared:
        if column.lower() not in known:
            raise MillstreamError(
                f'column "{column}" does not exist in file "{os.path.basename(file)}"',
                detail=f"Its header has {', '.join(names)[:500]}.",
                hint=_column_hint(column, names, delimiter),
            )


def _column_hint(column: str, names: tuple[str, ...], delimiter: str) -> str:
    if column.lower() == "current_time":
        return "Write ORDER BY current_time: rows are then stamped as they come."
    meant = closest(column, names)
    if meant:
        return f"Did you mean {meant}?"
    other = next((d for d in ";\t|," if d != delimiter and d in "".join(names)), None)
    if other and len(names) == 1:
        return f"If its cells are separated otherwise, say WITH (delimiter = '{other}')."
    return "If it has no header row, say WITH (header = 'false')."


def _cell_count(expected: int, actual: int) -> str:
    return f"the row has {actual} cells instead of {expected}"


def _has_lone_return(text: str) -> bool:
    """Whether a carriage return stands without a line feed: Arrow, unlike us, ends a row there."""
    return "\r" in text and text.count("\r") != text.count("\r\n")


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
