"""One JSON line at a time: its keys, its cells as text, or why it is not a row."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa

from millstream.connect.casting import type_name
from millstream.connect.files.nesting import Path
from millstream.connect.times import ISO, Times

DEEPEST = 200
FARTHEST = 2**60
"""Beyond the instants that rows can have."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_HEARTBEAT = re.compile(rb'^\s*\{\s*"\$heartbeat"\s*:\s*(?:"([^"]*)"|(-?\d{1,18}))\s*\}\s*$')


class Number(str):
    """A JSON number, as it is written."""


class Refused(str):
    """Why a value cannot be a cell."""


def paths_of(line: bytes, names: list[str]) -> list[tuple[Path, Any]]:
    """Where each column stands in a line, and its value there."""
    try:
        row = _load(line.decode("utf-8"))
    except ValueError:
        row = None
    return [_find(row if isinstance(row, dict) else {}, name) for name in names]


def cells_of(line: bytes, schema: pa.Schema, times: Times) -> list[str | None] | Refused:
    """The cells of a line as text, or why it has none."""
    if is_deep(line):
        return Refused(f"the row is nested more than {DEEPEST} deep")
    try:
        row = _load(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Refused(
            f"the row is not UTF-8: byte 0x{line[error.start]:02x} at {error.start + 1:,}"
        )
    except ValueError as error:
        return Refused(f"the row is not JSON: {error}")
    if not isinstance(row, dict):
        return Refused("the row is not a JSON object")
    cells = [_cell(_find(row, field.name)[1], field, times) for field in schema]
    return next((cell for cell in cells if isinstance(cell, Refused)), cells)


def is_deep(line: bytes) -> bool:
    """Whether arrays and objects are nested deeper than is read.

    >>> is_deep(b"[" * 300 + b"]" * 300), is_deep(b"[]" * 300)
    (True, False)
    """
    if line.count(b"[") + line.count(b"{") <= DEEPEST:
        return False
    depth = 0
    for bracket in re.findall(rb"[][{}]", _STRING.sub(b"", line)):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            return True
    return False


def heartbeat_of(line: bytes, times: Times = ISO, scale: int = 1) -> int | None:
    """The instant of a control line, or None for any other line; integers count `scale` instants.

    A number is an instant as it stands, unless timestamps are numbers in this source.

    >>> heartbeat_of(b'{"$heartbeat": 17}')
    17
    """
    found = _HEARTBEAT.match(line)
    if found is None:
        return None
    if found[2] is not None and times.micros is None:
        return max(-FARTHEST, min(int(found[2]) * scale, FARTHEST))
    cell = pa.array([(found[1] if found[2] is None else found[2]).decode("utf-8", "replace")])
    return times.from_text(cell, pa.timestamp("us")).values.cast(pa.int64())[0].as_py()


def _load(text: str) -> Any:
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)


def _find(row: dict[str, Any], name: str) -> tuple[Path, Any]:
    """Where a column stands: under its name, or, with points in it, in objects inside of others."""
    key = _key(row, name)
    if key in row or "." not in name:
        return (key,), row.get(key)
    path: Path = ()
    value: Any = row
    for part in name.split("."):
        if value is not None and not isinstance(value, dict):
            return (*path, part), Refused(f'column "{name}": "{path[-1]}" is not an object')
        key = part if value is None else _key(value, part)
        path, value = (*path, key), None if value is None else value.get(key)
    return path, value


def _key(row: dict[str, Any], name: str) -> str:
    """The key of a column in a line: its name, else its name in another (ASCII) case."""
    if name in row:
        return name
    return next((key for key in row if _fold(key) == _fold(name)), name)


def _fold(name: str) -> bytes:
    return name.encode("utf-8", "replace").lower()


def _cell(value: Any, field: pa.Field, times: Times) -> str | None:
    """A JSON value as the text of a cell."""
    type = field.type
    if value is None or isinstance(value, Refused):
        return value
    if isinstance(value, (dict, list)):
        if pa.types.is_string(type):
            value = _spelt(value)
        else:
            what = "an object" if isinstance(value, dict) else "an array"
            return Refused(f"{_refused(field, what)}; declare it string for its JSON text")
    if isinstance(value, bool):
        text = "true" if value else "false"
        fits = pa.types.is_boolean(type) or pa.types.is_string(type)
        return text if fits else _refused(field, text)
    counted = pa.types.is_timestamp(type) and times.micros is None
    if isinstance(value, Number) and (counted or pa.types.is_date(type)):
        return Refused(f"{_refused(field, f'the number {value}')}{times.advice(value, type)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return _refused(field, "half a surrogate pair")
    return str(value)


def _spelt(value: Any) -> str:
    """JSON on one line, with numbers as they were written."""
    match value:
        case dict():
            members = (f"{json.dumps(k, ensure_ascii=False)}:{_spelt(v)}" for k, v in value.items())
            return f"{{{','.join(members)}}}"
        case list():
            return f"[{','.join(map(_spelt, value))}]"
        case Number():
            return str(value)
    return json.dumps(value, ensure_ascii=False)


def _refused(field: pa.Field, what: str) -> Refused:
    article = "an" if pa.types.is_duration(field.type) else "a"
    return Refused(f'column "{field.name}": {what} is not {article} {type_name(field.type)}')
