"""How functions of texts compute; positions are counted in characters, from 1."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.kernels import mapped
from millstream.algebra.types import INTEGER, STRING

LONGEST_TEXT = 1_000_000
"""What a function may make of a text, in characters; anything longer is NULL."""
_FAR = 2**62


def slice_text(text: pa.Array, start: int, length: int | None = None) -> pa.Array:
    """Characters from position `start`, counted from 1, or from the end when negative."""
    begin = max(-_FAR, min(start, _FAR))
    size = None if length is None else max(-_FAR // 2, min(length, _FAR // 2))
    if begin < 0 and size is not None and begin + size < 0:
        return pc.utf8_slice_codeunits(text, begin, begin + size)
    if begin < 0:
        return pc.utf8_slice_codeunits(text, begin, 0 if size == 0 else None)
    first = max(begin - 1, 0)
    if size is None:
        return pc.utf8_slice_codeunits(text, first)
    return pc.utf8_slice_codeunits(text, first, max(first + size, first))


def left(text: pa.Array, count: int) -> pa.Array:
    return pc.utf8_slice_codeunits(text, 0, max(0, min(count, _FAR)))


def right(text: pa.Array, count: int) -> pa.Array:
    if count <= 0:
        return pc.utf8_slice_codeunits(text, 0, 0)
    return pc.utf8_slice_codeunits(text, -min(count, _FAR))


def replace(text: pa.Array, old: str, new: str) -> pa.Array:
    return pc.replace_substring(text, old, new) if old else text


def position(text: pa.Array, part: str) -> pa.Array:
    """Where the part begins, in characters counted from 1; Arrow counts bytes."""
    if not part.isascii() or not pc.all(pc.string_is_ascii(text)).as_py():
        return mapped(lambda t: t.find(part) + 1, INTEGER)(text)
    return pc.add(pc.find_substring(text, part), 1).cast(INTEGER)


def pad_left(text: str, length: int, fill: str = " ") -> str | None:
    return None if length > LONGEST_TEXT else _filling(text, length, fill) + text[: max(length, 0)]


def pad_right(text: str, length: int, fill: str = " ") -> str | None:
    return None if length > LONGEST_TEXT else text[: max(length, 0)] + _filling(text, length, fill)


def _filling(text: str, length: int, fill: str) -> str:
    missing = max(0, length - len(text))
    return (fill * missing)[:missing]


def repeat(text: str, count: int) -> str | None:
    return text * max(count, 0) if len(text) * count <= LONGEST_TEXT else None


def part_of(text: str, separator: str, number: int) -> str:
    """The number-th piece, counted from 1, or from the end when negative; empty beyond."""
    pieces = text.split(separator) if separator else [text]
    at = number - 1 if number > 0 else len(pieces) + number
    return pieces[at] if number and 0 <= at < len(pieces) else ""


def join_texts(separator: pa.Array, *parts: pa.Array) -> pa.Array:
    """The parts that are not NULL, with the separator between them."""
    # Arrow's own kernel loses rows in which all parts are NULL.
    rows = zip(separator.to_pylist(), *(part.to_pylist() for part in parts))
    return pa.array(
        [
            None if between is None else between.join(p for p in row if p is not None)
            for between, *row in rows
        ],
        STRING,
    )
