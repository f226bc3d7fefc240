"""Columns of text or of another type into declared types, with a mark on every cell that cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connect.spelling import cleaned, reader_of

CELL_TEXT = 100


@dataclass(frozen=True)
class Converted:
    """A column in its declared type; cells marked `bad` did not convert and are NULL."""

    values: pa.Array
    bad: np.ndarray | None = None


def from_text(cells: pa.Array, type: pa.DataType) -> Converted:
    """Text cells as a declared type.

    Law: each cell converts, or does not, by itself, whatever its neighbours are. The whole column
    is tried first; then the same with spaces and spellings cleaned; only then are bad cells sought.

    >>> from_text(pa.array(["1", " 2 ", "x"]), pa.int64()).values.to_pylist()
    [1, 2, None]
    """
    if pa.types.is_string(type):
        return Converted(cells)
    cast = reader_of(type)
    try:
        return Converted(cast(cells))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _search(cleaned(cells, type), cast, type)


def from_values(values: pa.Array, type: pa.DataType) -> Converted:
    """Typed values as a declared type; `ArrowNotImplementedError` for kinds that never fit."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values.type == type:
        return Converted(values)
    if is_text(values.type):
        return from_text(values.cast(pa.string()), type)

    def cast(part: pa.Array) -> pa.Array:
        return _cast_value(part, type)

    try:
        return Converted(cast(values))
    except pa.ArrowInvalid:
        return _search(values, cast, type)


def fits_always(given: pa.DataType, declared: pa.DataType) -> bool:
    """Whether every value of one type is a value of the other, so that no row can be bad."""
    if pa.types.is_dictionary(given):
        given = given.value_type
    if given == declared or (is_text(given) and pa.types.is_string(declared)):
        return True
    if pa.types.is_int64(declared):
        return pa.types.is_integer(given) and given != pa.uint64()
    if pa.types.is_float64(declared):
        return pa.types.is_integer(given) or pa.types.is_floating(given)
    return (
        pa.types.is_timestamp(declared) and given.id == declared.id and given.unit in ("us", "ns")
    )


def bisect(
    size: int, accept: Callable[[int, int], bool], leaf: int = 1, step: int | None = None
) -> list[tuple[int, int]]:
    """The smallest pieces (of at most `leaf`) of 0…size that are not accepted.

    The first try is in pieces of `step`, or in one.

    Costs a few tries for every bad piece, and one when there is none.

    >>> bisect(8, lambda low, high: not low <= 5 < high)
    [(5, 6)]
    """
    starts = range(0, size, step or max(size, 1))
    refused, pieces = [], [(low, min(low + starts.step, size)) for low in reversed(starts)]
    while pieces:
        low, high = pieces.pop()
        if accept(low, high):
            continue
        if high - low <= leaf:
            refused.append((low, high))
        else:
            middle = (low + high) // 2
            pieces += [(middle, high), (low, middle)]
    return refused


def is_text(type: pa.DataType) -> bool:
    return (
        pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type)
    )


def type_name(type: pa.DataType) -> str:
    """A declared type as its author wrote it.

    >>> type_name(pa.decimal128(10, 2))
    'decimal(10, 2)'
    """
    if pa.types.is_decimal(type):
        return f"decimal({type.precision}, {type.scale})"
    return _NAMES.get(type.id, str(type))


def refusal(column: str, cell: object, type: pa.DataType) -> str:
    """Why a cell is bad.

    >>> refusal("price", "abc", pa.float64())
    'column "price": "abc" is not a double'
    """
    text = str(cell)
    shown = text if len(text) <= CELL_TEXT else text[:CELL_TEXT] + "…"
    whole = text.strip().lstrip("+-").isdecimal()
    verb = "does not fit in" if whole and pa.types.is_integer(type) else "is not"
    article = "an" if pa.types.is_duration(type) else "a"
    return f'column "{column}": "{shown}" {verb} {article} {type_name(type)}'


_NAMES = {
    pa.int64().id: "bigint",
    pa.float64().id: "double",
    pa.string().id: "string",
    pa.bool_().id: "boolean",
    pa.timestamp("us").id: "timestamp",
    pa.date32().id: "date",
    pa.duration("us").id: "interval",
}

# What a cell must look like to have a chance; wider than what converts, so never the judge alone.
_HOPEFUL = {
    pa.int64().id: r"^[-+]?[0-9xXa-fA-F]+$",
    pa.float64().id: r"^[-+0-9.eEnNaAiIfFtTyY]+$",
    pa.timestamp("us").id: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}",
    pa.date32().id: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}",
}


def _search(cells: pa.Array, cast: Callable[[pa.Array], pa.Array], type: pa.DataType) -> Converted:
    """Convert what converts and mark the rest."""
    bad = np.zeros(len(cells), dtype=bool)
    pattern = _HOPEFUL.get(type.id) if is_text(cells.type) else None
    if pattern is not None:
        hopeful = pc.match_substring_regex(cells, pattern).fill_null(True)
        bad = ~hopeful.to_numpy(zero_copy_only=False)
    rest = np.flatnonzero(~bad)
    tried = cells.take(pa.array(rest)) if len(rest) < len(cells) else cells

    def accept(low: int, high: int) -> bool:
        try:
            cast(tried.slice(low, high - low))
        except pa.ArrowInvalid:
            return False
        return True

    for low, high in bisect(len(tried), accept):
        bad[rest[low:high]] = True
    if not bad.any():
        return Converted(cast(cells))
    return Converted(cast(pc.if_else(pa.array(bad), pa.scalar(None, cells.type), cells)), bad)


def _cast_value(part: pa.Array, type: pa.DataType) -> pa.Array:
    """Typed values cast without loss, save fractions of a microsecond or of the last digit."""
    given = part.type
    if pa.types.is_timestamp(given) and pa.types.is_timestamp(type):
        micros = pc.cast(part, pa.timestamp("us", given.tz), safe=given.unit != "ns")
        return micros.cast(pa.int64()).cast(type)
    if pa.types.is_floating(given) and pa.types.is_decimal(type):
        if pc.any(pc.invert(pc.is_finite(part))).as_py():
            raise pa.ArrowInvalid("a decimal is finite")
        return pc.cast(part, type)
    if pa.types.is_integer(given) and pa.types.is_decimal(type):
        return pc.cast(pc.cast(part, pa.decimal128(20, 0)), type)
    if pa.types.is_decimal(given) and pa.types.is_decimal(type) and given.scale > type.scale:
        rounded = pc.round(part, ndigits=type.scale, round_mode="half_towards_infinity")
        return pc.cast(rounded, type)
    if pa.types.is_float64(type):
        return pc.cast(part, type, safe=False)
    if pa.types.is_temporal(type) and not pa.types.is_temporal(given):
        raise pa.ArrowNotImplementedError(f"{given} is not a time")
    return pc.cast(part, type)
