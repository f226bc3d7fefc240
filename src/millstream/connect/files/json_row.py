"""One JSON line at a time: its keys, its cells as text, or why it is not a row."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa

from millstream.algebra.reading import from_text
from millstream.connect.casting import type_name

DEEPEST = 200
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_HEARTBEAT = re.compile(rb'^\s*\{\s*"\$heartbeat"\s*:\s*(?:"([^"]*)"|(-?\d{1,18}))\s*\}\s*$')


class Number(str):
    """A JSON number, as it is written."""


class Refused(str):
    """Why a value cannot be a cell."""


def keys_of(line: bytes, names: list[str]) -> tuple[list[str], dict[str, Any]]:
    """The spelling of each column's key in a line, and the line's values."""
    try:
        row = _load(line.decode("utf-8"))
    except ValueError:
        row = None
    if not isinstance(row, dict):
        return names, {}
    return [_key(row, name) for name in names], row


def cells_of(line: bytes, schema: pa.Schema) -> list[str | None] | Refused:
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
    cells = [_cell(row.get(_key(row, field.name)), field) for field in schema]
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


def heartbeat_of(line: bytes) -> int | None:
    """The instant of a control line, or None for any other line.

    >>> heartbeat_of(b'{"$heartbeat": 17}')
    17
    """
    found = _HEARTBEAT.match(line)
    if found is None:
        return None
    if found[2] is not None:
        return int(found[2])
    cell = pa.array([found[1].decode("utf-8", "replace")])
    return from_text(cell, pa.timestamp("us")).values.cast(pa.int64())[0].as_py()


def _load(text: str) -> Any:
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)


def _key(row: dict[str, Any], name: str) -> str:
    """The key of a column in a line: its name, else its name in another (ASCII) case."""
    if name in row:
        return name
    return next((key for key in row if _fold(key) == _fold(name)), name)


def _fold(name: str) -> bytes:
    return name.encode("utf-8", "replace").lower()


def _cell(value: Any, field: pa.Field) -> str | None:
    """A JSON value as the text of a cell."""
    type = field.type
    if value is None:
        return None
    if isinstance(value, (dict, list)):
        return _refused(field, "an object" if isinstance(value, dict) else "an array")
    if isinstance(value, bool):
        text = "true" if value else "false"
        fits = pa.types.is_boolean(type) or pa.types.is_string(type)
        return text if fits else _refused(field, text)
    if isinstance(value, Number) and (pa.types.is_timestamp(type) or pa.types.is_date(type)):
        return _refused(field, f"the number {value}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return _refused(field, "half a surrogate pair")
    return str(value)


def _refused(field: pa.Field, what: str) -> Refused:
    article = "an" if pa.types.is_duration(field.type) else "a"
    return Refused(f'column "{field.name}": {what} is not {article} {type_name(field.type)}')
