"""JSON lines: one object per line, a missing key is NULL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from millstream.connect.files.json_row import (
    DEEPEST,
    Number,
    Refused,
    cells_of,
    heartbeat_of,
    is_deep,
    paths_of,
)
from millstream.connect.files.nesting import Overlapping, Path, field_at, nested_schema
from millstream.connect.files.records import Records
from millstream.connect.files.text_source import Part, TextSource, good_part
from millstream.connect.source import ERRORS, ReadBatch
from millstream.connect.times import NUMBERS


@dataclass(frozen=True)
class JsonSource(TextSource):
    """JSON lines records.

    A key is a column's name, or else the same in another case; a missing key or null is NULL, other
    keys are ignored. Numbers are also read from strings, strings from numbers and booleans (as they
    are written), integers also from `2.0`. Timestamps and dates are strings, as in CSV; a number is
    not a timestamp, because its unit would be a guess. An interval is a number of seconds or
    `hours:minutes:seconds`. The name of a column may lead into objects (`item.price`), unless
    a key has that name. An array or object is the JSON text of a string column, and of no other.

    The line `{"$heartbeat": t}` is not a row: t (a timestamp string, or an integer, in units of
    `scale` instants) is the source's own heartbeat. It takes an arrival number, so numbers do not
    depend on the cuts.
    """

    scale: int = 1

    leaf = 32

    def parse(self, records: Records, file: str, seq: int, columns: Sequence[str]) -> ReadBatch:
        data = records.data.tobytes()
        if b'"$heartbeat"' not in data:
            return super().parse(records, file, seq, columns)
        lines = _naming_heartbeat(records, data)
        named = {i: heartbeat_of(records.raw(i), self.times, self.scale) for i in lines}
        beats = {i: beat for i, beat in named.items() if beat is not None}
        kept = np.setdiff1d(np.arange(len(records)), np.fromiter(beats, np.int64, len(beats)))
        read_batch = super().parse(self.records(_bytes_of(records, kept)), file, 0, columns)
        places = pa.array(kept[read_batch.errors["seq"].to_numpy()] + seq)
        errors = pa.record_batch([places, *read_batch.errors.columns[1:]], schema=ERRORS)
        placed = tuple((i + seq, beat) for i, beat in sorted(beats.items()))
        return replace(read_batch, seq=kept[read_batch.seq] + seq, errors=errors, beats=placed)

    def fast(self, records: Records, low: int, high: int, file: str) -> Part | None:
        if not _all_braced(records, low, high) or _any_deep(records, low, high):
            return None
        data = records.piece(low, high)
        places = paths_of(records.raw(low), self.schema.names)
        paths = [path for path, _ in places]
        kinds = [self._read_as(f.type, example) for f, (_, example) in zip(self.schema, places)]
        try:
            str(data, "utf-8")
            table = _read(data, nested_schema(paths, kinds))
        except (pa.ArrowInvalid, UnicodeDecodeError, Overlapping):
            return None
        if table.num_rows != high - low or _mixes_cases(data, self.schema.names, paths):
            return None
        raw = [field_at(table, path) for path in paths]
        missed = zip(raw, self.schema.names, paths)
        if any(_other_case(records, low, column, name, path) for column, name, path in missed):
            return None
        if any(_too_large(column) for column in raw):
            return None
        done = [self.times.from_values(_seconds(c, t), t) for c, t in zip(raw, self.schema.types)]

        def why(column: int, row: int) -> str:
            cell = raw[column][row].as_py()
            return self.times.refusal(self.schema.names[column], cell, self.schema.types[column])

        return good_part(
            np.arange(low, high), [c.values for c in done], [c.bad for c in done], why, {}
        )

    def slow(self, records: Records, low: int, high: int, file: str) -> Part:
        rows = {i: cells_of(records.raw(i), self.schema, self.times) for i in range(low, high)}
        bad = {i: str(row) for i, row in rows.items() if isinstance(row, Refused)}
        good = {i: row for i, row in rows.items() if i not in bad}
        cells = [
            pa.array([row[c] for row in good.values()], pa.string())
            for c in range(len(self.schema))
        ]
        done = [self.times.from_text(text, type) for text, type in zip(cells, self.schema.types)]

        def why(column: int, row: int) -> str:
            cell = cells[column][row].as_py()
            return self.times.refusal(self.schema.names[column], cell, self.schema.types[column])

        index = np.fromiter(good, np.int64, len(good))
        return good_part(index, [c.values for c in done], [c.bad for c in done], why, bad)

    def _read_as(self, type: pa.DataType, example: Any) -> pa.DataType:
        """The type Arrow should read a column as, given what the first record has there."""
        text = isinstance(example, str) and not isinstance(example, Number)
        if pa.types.is_duration(type):
            return pa.string() if text else pa.decimal128(24, 6)
        if pa.types.is_timestamp(type) or pa.types.is_date(type):
            counted = pa.types.is_timestamp(type) and self.times.micros is not None and not text
            return NUMBERS if counted else pa.string()
        return pa.string() if text and not pa.types.is_decimal(type) else type


def _read(data: memoryview, schema: pa.Schema) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(data),
        pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )


def _seconds(column: pa.Array, type: pa.DataType) -> pa.Array:
    if pa.types.is_duration(type) and pa.types.is_decimal(column.type):
        return column.cast(pa.string())
    return column


def _all_braced(records: Records, low: int, high: int) -> bool:
    """Whether every record begins with { and ends with }, so that none spans several lines."""
    data, ends = records.data, records.ends[low:high].copy()
    for line_end in b"\n\r":
        ends -= data[np.maximum(ends - 1, 0)] == line_end
    opened = data[records.starts[low:high]] == ord("{")
    return bool(opened.all() and (data[np.maximum(ends - 1, 0)] == ord("}")).all())


def _any_deep(records: Records, low: int, high: int) -> bool:
    """Whether some record is nested too deeply; only those with many brackets are looked at."""
    start = records.starts[low]
    brackets = (np.frombuffer(records.piece(low, high), np.uint8) | 0x20) == ord("{")
    if brackets.sum() <= DEEPEST:
        return False
    counts = np.add.reduceat(brackets, records.starts[low:high] - start, dtype=np.int64)
    return any(is_deep(records.raw(low + int(i))) for i in np.flatnonzero(counts > DEEPEST))


def _mixes_cases(data: memoryview, names: list[str], paths: list[Path]) -> bool:
    """Whether a column read under another key may also be there under its own name.

    A name with points, in any case, comes before the path that it is; a part of a path in its own
    case before one in another.
    """
    read = list(zip(names, paths))
    dotted = [name for name, path in read if len(path) > 1]
    parts = [name for name, path in read if len(path) == 1 and path != (name,)]
    for name, path in read:
        if len(path) > 1:
            parts += [part for part, key in zip(name.split("."), path) if part != key]
    if not dotted and not parts:
        return False
    text = bytes(data)
    if dotted and any(f'"{name}"'.encode().lower() in text.lower() for name in dotted):
        return True
    return any(f'"{part}"'.encode() in text for part in parts)


def _other_case(records: Records, low: int, column: pa.Array, name: str, path: Path) -> bool:
    """Whether some record that lacks a column may have it in another case, or in another place."""
    if not column.null_count:
        return False
    missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)) + low
    data = _bytes_of(records, missing).tobytes()
    ends = {name, path[-1], name.rpartition(".")[2]}
    found = _keys_in(data, ends)
    # Arrow has looked at the objects on the way, if they are there in the case of the first record.
    return bool(found) or bool(_keys_in(data, set(path[:-1])) - {key.encode() for key in path[:-1]})


def _keys_in(data: bytes, keys: set[str]) -> set[bytes]:
    """The keys, in any case, that have a value there."""
    if not keys:
        return set()
    either = b"|".join(re.escape(key.encode()) for key in sorted(keys))
    pattern = rb'"(' + either + rb')"\s*:\s*(?!(?-i:null)\b)\S'
    return set(re.findall(pattern, data, re.IGNORECASE))


def _too_large(column: pa.Array) -> bool:
    """Whether a number may be too large for a double: Arrow takes such a one for infinite."""
    if not pa.types.is_floating(column.type):
        return False
    return pc.any(pc.is_inf(column)).as_py() is True


def _bytes_of(records: Records, chosen: np.ndarray) -> np.ndarray:
    """The bytes of some records, one after the other."""
    starts, ends = records.starts[chosen], records.ends[chosen]
    sizes = ends - starts
    shift = np.repeat(starts - (sizes.cumsum() - sizes), sizes)
    return records.data[shift + np.arange(sizes.sum())]


def _naming_heartbeat(records: Records, data: bytes) -> list[int]:
    places = np.array([found.start() for found in re.finditer(rb'"\$heartbeat"', data)])
    return np.unique(np.searchsorted(records.starts, places, side="right") - 1).tolist()
