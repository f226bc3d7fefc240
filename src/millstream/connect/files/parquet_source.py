"""Parquet files: only the asked columns, row group by row group."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millstream.connect.casting import fits_always, type_name
from millstream.connect.cells import is_nested
from millstream.connect.files.listing import BY_NUMBERS, Files, Listing, order_at
from millstream.connect.files.nesting import Path, all_names, field_at, find_field
from millstream.connect.source import Comparison, ReadBatch, Slice, error_rows, largest_of
from millstream.connect.times import ISO, Times
from millstream.errors import MillstreamError, closest

MOST_ROWS = 512 * 1024
MOST_WHOLE = 1 << 20  # a row group is not split for the sake of two cores when another one follows


@dataclass(frozen=True)
class ParquetSource:
    """Rows of Parquet files, in slices of a row group or a part of one.

    Position: the file, the row group, the row in it, the next arrival number, and the order of the
    files.
    A column whose type in the file always fits its declaration is read only when asked for; the
    others are always read, because a value that does not fit makes its row bad. A part of a row
    group is cut from the whole one, which the process keeps for the next part. What the footer says
    of a row group decides whether it can have rows that pass a test.
    """

    name: str
    schema: pa.Schema
    files: Files
    times: Times = ISO
    _groups: dict[str, list[int]] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        first = self.files.first()
        if first is not None and not self._is_unfinished(first, self.files.now()):
            self._sizes(first)

    def start(self) -> dict[str, Any]:
        return {"file": None, "group": 0, "row": 0, "seq": 1, "order": BY_NUMBERS}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        file, group, row, seq = (position[key] for key in ("file", "group", "row", "seq"))
        slices: list[Slice] = []
        order = order_at(position)
        there = self.files.now(order)
        asked, file = rows, file or there.first
        while file is not None and not self._is_unfinished(file, there):
            sizes = self._sizes(file)
            while group < len(sizes) and rows > 0:
                count = min(
                    sizes[group] - row, rows, MOST_ROWS if asked < 2 * sizes[group] else MOST_WHOLE
                )
                if count:
                    at = {"file": file, "group": group, "row": row, "of": sizes[group]}
                    slices.append(Slice(self.name, at, seq, count))
                rows, row, seq = rows - count, row + count, seq + count
                if row == sizes[group]:
                    group, row = group + 1, 0
            if group < len(sizes):
                break
            later = there.after(file)
            if later is None:
                after = {"file": file, "group": group, "row": 0, "seq": seq, "order": order}
                return slices, after, not self.files.follow
            file, group, row = later, 0, 0
            if rows <= 0:
                break
        after = {"file": file, "group": group, "row": row, "seq": seq, "order": order}
        return slices, after, False

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        given, spelt = self._columns(slice.at["file"])
        risky = [f.name for f in self.schema if not fits_always(given[f.name], f.type)]
        needed = list(dict.fromkeys([*columns, *risky]))
        table = _part(slice, tuple(spelt[name] for name in needed))
        types = {name: self.schema.field(name).type for name in needed}
        raw = {name: field_at(table, spelt[name]) for name in needed}
        done = {name: self.times.from_values(raw[name], types[name]) for name in needed}
        bad = [(name, c.bad) for name, c in done.items() if c.bad is not None]
        rows = pa.record_batch(
            [done[name].values for name in columns],
            schema=pa.schema([self.schema.field(name) for name in columns]),
        )
        seq = np.arange(slice.seq, slice.seq + slice.length)
        if not bad:
            return ReadBatch(rows, seq, error_rows([], [], []))
        wrong = np.logical_or.reduce([mask for _, mask in bad])
        places = np.flatnonzero(wrong)
        reasons = [self._reason(bad, raw, types, int(i)) for i in places]
        whole = _part(slice, tuple(spelt[name] for name in self.schema.names))
        texts = [json.dumps(whole.slice(int(i), 1).to_pylist()[0], default=str) for i in places]
        keep = np.flatnonzero(~wrong)
        return ReadBatch(
            rows.take(pa.array(keep)), seq[keep], error_rows(seq[places], reasons, texts)
        )

    def largest(self, slice: Slice, column: str) -> int | None:
        given, spelt = self._columns(slice.at["file"])
        safe = all(fits_always(given[f.name], f.type) for f in self.schema)
        if (
            safe
            and slice.length == slice.at["of"]
            and given[column] == self.schema.field(column).type
        ):
            found = _statistics(slice, spelt[column], given[column])
            if found is not None:
                return found
        return largest_of(self.read(slice, [column]).rows.column(0))

    def excludes(self, slice: Slice, test: Comparison) -> bool:
        given, spelt = self._columns(slice.at["file"])
        if given[test.column] != self.schema.field(test.column).type:
            return False
        found = _range(slice, spelt[test.column], given[test.column])
        return found is not None and test.fails(*found)

    def _columns(self, file: str) -> tuple[dict[str, pa.DataType], dict[str, Path]]:
        """The type and the path of each declared column in a file."""
        stamp = os.stat(file)
        fields = tuple(self.schema)
        return _found_columns(file, stamp.st_mtime_ns, stamp.st_size, fields, self.times)

    def _reason(
        self,
        bad: list[tuple[str, np.ndarray]],
        raw: dict[str, pa.Array],
        types: dict[str, pa.DataType],
        i: int,
    ) -> str:
        name = next(name for name, mask in bad if mask[i])
        return self.times.refusal(name, raw[name][i].as_py(), types[name])

    def _is_unfinished(self, file: str, there: Listing) -> bool:
        """Whether a followed file is still being written: its last bytes are not there yet."""
        if not self.files.follow or file in self._groups:
            return False
        if there.after(file) is not None:
            return False
        with open(file, "rb") as handle:
            handle.seek(max(os.path.getsize(file) - 4, 0))
            return handle.read() != b"PAR1"

    def _sizes(self, file: str) -> list[int]:
        """The rows of each row group of a file that has all declared columns."""
        if file not in self._groups:
            metadata = _open(file).metadata
            self._columns(file)
            sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            self._groups[file] = sizes
        return self._groups[file]


def schema_of(file: str) -> pa.Schema:
    """The columns of a file, as its footer gives them."""
    return _open(file).schema_arrow


def _open(file: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise MillstreamError(
            f'file "{os.path.basename(file)}" cannot be read as Parquet',
            detail=f"{str(error).splitlines()[0].rstrip('.')}.",
            hint="If it is of another format, say WITH (format = 'csv') or 'jsonl'.",
        ) from None


@lru_cache(maxsize=64)
def _found_columns(
    file: str, changed: int, size: int, fields: tuple[pa.Field, ...], times: Times
) -> tuple[dict[str, pa.DataType], dict[str, Path]]:
    there = _open(file).schema_arrow
    given, spelt = {}, {}
    for wanted in fields:
        found = find_field(there, wanted.name)
        if found is None:
            names = all_names(there)
            meant = closest(wanted.name, names)
            raise MillstreamError(
                f'column "{wanted.name}" does not exist in file "{os.path.basename(file)}"',
                hint=f"Did you mean {meant}?" if meant else f"It has {', '.join(names)[:500]}.",
            )
        spelt[wanted.name], given[wanted.name] = found
        _check_kind(wanted, given[wanted.name], file, times)
    return given, spelt


def _check_kind(wanted: pa.Field, given: pa.DataType, file: str, times: Times) -> None:
    try:
        times.from_values(pa.nulls(1, given), wanted.type)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise MillstreamError(
            f'column "{wanted.name}" of file "{os.path.basename(file)}" is of type {given}, '
            f"which cannot be read as {type_name(wanted.type)}",
            hint=_remedy(wanted, given),
        ) from None


def _remedy(wanted: pa.Field, given: pa.DataType) -> str:
    if pa.types.is_timestamp(wanted.type) and pa.types.is_integer(given):
        return "Say what it counts: WITH (timestamp = 'epoch_ms'), 'epoch_s' or 'epoch_us'."
    if pa.types.is_struct(given) and given.num_fields:
        inner = f'"{wanted.name}.{given.field(0).name}"'
        return f"Declare a field of it, such as {inner}, or it as string, for its JSON text."
    if is_nested(given):
        return "Declare it as string, for its JSON text."
    return "Declare it with the type it has in the file."


def _part(slice: Slice, paths: tuple[Path, ...]) -> pa.Table:
    at, columns = slice.at, tuple(".".join(path) for path in paths)
    if slice.length == at["of"]:
        return _open(at["file"]).read_row_group(at["group"], list(columns), use_threads=False)
    status = os.stat(at["file"])
    with _one_reads:
        whole = _kept_group(at["file"], status.st_mtime_ns, status.st_size, at["group"], columns)
    return whole.slice(at["row"], slice.length)


@lru_cache(maxsize=3)
def _kept_group(
    file: str, changed: int, size: int, group: int, columns: tuple[str, ...]
) -> pa.Table:
    return _open(file).read_row_group(group, list(columns))


_one_reads = Lock()
"""Held while a row group is read of which threads read parts, so that it is read once."""


def _statistics(slice: Slice, path: Path, type: pa.DataType) -> int | None:
    """The largest value as the file itself knows it."""
    found = _range(slice, path, type)
    return None if found is None else pa.scalar(found[1], type).cast(pa.int64()).as_py()


def _range(slice: Slice, path: Path, type: pa.DataType) -> tuple[Any, Any] | None:
    """The least and the largest value of a column in a row group, as the file itself knows them."""
    status = os.stat(slice.at["file"])
    stamp = status.st_mtime_ns, status.st_size
    return _found_range(slice.at["file"], *stamp, slice.at["group"], ".".join(path), type)


@lru_cache(maxsize=4096)
def _found_range(
    file: str, changed: int, size: int, group: int, column: str, type: pa.DataType
) -> tuple[Any, Any] | None:
    group_columns = _open(file).metadata.row_group(group)
    chunks = [group_columns.column(i) for i in range(group_columns.num_columns)]
    named = [chunk for chunk in chunks if chunk.path_in_schema == column]
    if len(named) != 1:  # a column with a point in its name, and a field under the same path
        return None
    known = named[0].statistics
    if not known or not known.has_min_max:
        return None
    least, most = (pa.scalar(value, type).as_py() for value in (known.min, known.max))
    return least, most
