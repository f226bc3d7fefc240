"""Results as rows of cells, and the comparison of those expected with those that came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connect.cells import plain
from millstream.testing.golden_file import Row

STREAM, TAGGED, BAG = "stream", "tagged", "bag"


@dataclass(frozen=True)
class Shape:
    """How a result is read: a stream and a tagged stream go by time, anything else is a bag."""

    kind: str
    schema: pa.Schema


def rows_of(shape: Shape, table: pa.Table | pa.RecordBatch) -> list[Row]:
    """The rows of a result as cells; `op` and `ts` of a tagged one are one cell, `+ 5`.

    Times lose the zeros at their end; the cells that a `-` row does not have are left out.
    """
    columns = [_texts(column) for column in table.columns]
    rows: list[Row] = [tuple(row) for row in zip(*columns)]
    if shape.kind != TAGGED:
        return rows
    merged: list[Row] = [(f"{row[0]} {row[1]}", *row[2:]) for row in rows]
    return [_without_end(row) if kept[0] == "-" else row for row, kept in zip(merged, rows)]


def difference(shape: Shape, expected: Sequence[Row], actual: Sequence[Row]) -> str | None:
    """What is missing and what should not be there, or None.

    The order of rows inside one instant does not matter; in a bag none does.
    """
    wanted, found = _normal(shape, expected), _normal(shape, actual)
    if wanted == found:
        return None
    missing, extra = _minus(wanted, found), _minus(found, wanted)
    if not missing and not extra:
        return f"the rows are in another order: {_text(found)}"
    parts = [f"missing: {_text(missing)}"] if missing else []
    return "\n".join([*parts, *([f"unexpected: {_text(extra)}"] if extra else [])])


def _texts(column: pa.Array | pa.ChunkedArray) -> list[str | None]:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    cells = plain(column)
    if pa.types.is_timestamp(column.type):
        cells = pc.replace_substring(cells, "T", " ", max_replacements=1)
        cells = pc.replace_substring_regex(cells, r"(\.\d*?)0+$", r"\1")
        cells = pc.replace_substring_regex(cells, r"\.$", "")
    return cells.to_pylist()


def _normal(shape: Shape, rows: Sequence[Row]) -> list[Row]:
    short = [_without_end(row) for row in rows]
    if shape.kind == BAG:
        return sorted(short, key=_sortable)

    def instant(row: Row) -> str:
        return (row[0] or "").split(" ", 1)[-1] if shape.kind == TAGGED else row[0] or ""

    return [row for _, same in groupby(short, instant) for row in sorted(same, key=_sortable)]


def _without_end(row: Row) -> Row:
    """The row without the NULLs at its end: trailing cells may be left out."""
    length = len(row)
    while length and row[length - 1] is None:
        length -= 1
    return row[:length]


def _sortable(row: Row) -> tuple[tuple[bool, str], ...]:
    return tuple((cell is not None, cell or "") for cell in row)


def _minus(rows: list[Row], others: list[Row]) -> list[Row]:
    return list((Counter(rows) - Counter(others)).elements())


def _text(rows: list[Row]) -> str:
    return "; ".join(" | ".join(cell or "" for cell in row) for row in rows)
