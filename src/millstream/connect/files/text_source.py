"""Files of text records: how CSV and JSON lines are planned, and put together from parsed parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.algebra.reading import bisect
from millstream.connect.files.listing import BY_NUMBERS, Files, order_at
from millstream.connect.files.packed import read_range
from millstream.connect.files.records import (
    BYTE_ORDER_MARK,
    Cut,
    Records,
    cut_records,
    find_records,
)
from millstream.connect.source import ROW_TEXT, ReadBatch, Slice, error_rows
from millstream.connect.times import ISO, Times

MAX_ROW_BYTES = 16 << 20
PIECE = 1 << 16


@dataclass(frozen=True)
class Part:
    """Some parsed records: the good ones' numbers and columns, and the bad ones' reasons."""

    index: np.ndarray
    columns: list[pa.Array]
    bad: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TextSource(ABC):
    """Records of text files, one slice at a time.

    Position: the file, the byte after the last record read of it, the next arrival number, and the
    order of the files.
    Law: records, their numbers and which of them are bad do not depend on the cuts.
    """

    name: str
    schema: pa.Schema
    files: Files
    max_row_bytes: int = MAX_ROW_BYTES
    times: Times = ISO

    quoting: int | None = field(default=None, init=False)

    def start(self) -> dict[str, Any]:
        return {"file": None, "offset": 0, "seq": 1, "order": BY_NUMBERS}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        file, offset, seq = position["file"], position["offset"], position["seq"]
        order = order_at(position)
        there = self.files.now(order)
        file = file or there.first
        while file is not None:
            later = there.after(file)
            final = later is not None or not self.files.follow
            cut = self._next(file, offset, rows, final)
            if cut is None and later is None:
                break
            if cut is None:
                file, offset = later, 0
            elif cut.rows == 0:
                offset = cut.end
            else:
                at = {"file": file, "start": offset, "end": cut.end, "refused": cut.refused}
                after = {"file": file, "offset": cut.end, "seq": seq + cut.rows, "order": order}
                done = final and later is None and self._next(file, cut.end, 1, final) is None
                return [Slice(self.name, at, seq, cut.rows)], after, done
        after = {"file": file, "offset": offset, "seq": seq, "order": order}
        return [], after, not self.files.follow

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        at = slice.at
        if at["refused"]:
            head = read_range(at["file"], at["start"], min(at["end"], at["start"] + 4 * ROW_TEXT))
            text = head.tobytes().decode("utf-8", "replace").rstrip("\r\n")
            return self._read_batch([], columns, slice.seq, {0: at["refused"]}, lambda _: text)
        data = read_range(at["file"], at["start"], at["end"])
        if at["start"] == 0 and data[:3].tobytes() == BYTE_ORDER_MARK:
            data = data[3:]
        return self.parse(self.records(data), at["file"], slice.seq, columns)

    def records(self, data: np.ndarray) -> Records:
        return find_records(data, self.quoting, final=True)

    def parse(self, records: Records, file: str, seq: int, columns: Sequence[str]) -> ReadBatch:
        """All records with the fast reader; the pieces it refuses with the slow one."""
        parts: dict[int, Part] = {}

        def accept(low: int, high: int) -> bool:
            part = self.fast(records, low, high, file)
            if part is not None:
                parts[low] = part
            return part is not None

        for low, high in bisect(len(records), accept, self.leaf, PIECE):
            parts[low] = self.slow(records, low, high, file)
        ordered = [parts[low] for low in sorted(parts)]
        bad = {i: reason for part in ordered for i, reason in part.bad.items()}
        return self._read_batch(ordered, columns, seq, bad, lambda i: records.text(i, 4 * ROW_TEXT))

    leaf = 1

    @abstractmethod
    def fast(self, records: Records, low: int, high: int, file: str) -> Part | None:
        """Records low…high read by Arrow, or None if it refuses them."""

    @abstractmethod
    def slow(self, records: Records, low: int, high: int, file: str) -> Part:
        """Records low…high, of which Arrow refuses some, one by one."""

    def _next(self, file: str, offset: int, rows: int, final: bool) -> Cut | None:
        return cut_records(file, offset, rows, self.quoting, final, self.max_row_bytes)

    def _read_batch(
        self,
        parts: list[Part],
        columns: Sequence[str],
        seq: int,
        bad: dict[int, str],
        text: Callable[[int], str],
    ) -> ReadBatch:
        asked = [self.schema.get_field_index(name) for name in columns]
        schema = pa.schema([self.schema.field(i) for i in asked])
        arrays = [_joined([part.columns[i] for part in parts], self.schema.types[i]) for i in asked]
        index = np.concatenate([np.zeros(0, np.int64)] + [part.index for part in parts])
        order = sorted(bad)
        errors = error_rows(
            [seq + i for i in order], [bad[i] for i in order], [text(i) for i in order]
        )
        return ReadBatch(pa.record_batch(arrays, schema=schema), index + seq, errors)


def good_part(
    index: np.ndarray,
    columns: list[pa.Array],
    wrong: list[np.ndarray | None],
    why: Callable[[int, int], str],
    bad: dict[int, str],
) -> Part:
    """A part without the rows in which some column is wrong; `why(column, row)` says what is."""
    marks = [(c, mask) for c, mask in enumerate(wrong) if mask is not None]
    if not marks:
        return Part(index, columns, bad)
    union = np.logical_or.reduce([mask for _, mask in marks])
    for row in np.flatnonzero(union):
        first = next(c for c, mask in marks if mask[row])
        bad[int(index[row])] = why(first, int(row))
    keep = np.flatnonzero(~union)
    return Part(index[keep], [column.take(pa.array(keep)) for column in columns], bad)


def _joined(arrays: list[pa.Array], type: pa.DataType) -> pa.Array:
    if len(arrays) == 1:
        return arrays[0]
    return pa.concat_arrays(arrays) if arrays else pa.array([], type)
