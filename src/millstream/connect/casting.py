"""Columns of text or of another type into declared types, with a mark on every cell that cannot."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.cast_kernels import spell_decimals, spell_doubles, spell_times
from millstream.algebra.reading import Converted, from_text, search
from millstream.algebra.spellings import NUMBER, from_doubles, rounded
from millstream.columns.keys import to_doubles
from millstream.connect.cells import as_json, is_nested, plain

CELL_TEXT = 100


def from_values(values: pa.Array, type: pa.DataType) -> Converted:
    """Typed values as a declared type; `ArrowNotImplementedError` for kinds that never fit."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values.type == type:
        return Converted(values)
    if pa.types.is_null(values.type):
        return Converted(pa.nulls(len(values), type))
    if is_text(values.type):
        return from_text(values.cast(pa.string()), type)

    def cast(part: pa.Array) -> pa.Array:
        return _cast_value(part, type)

    try:
        return Converted(cast(values))
    except pa.ArrowInvalid:
        return search(values, cast)


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
    verb = "does not fit in" if _is_number(text.strip(), type) else "is not"
    article = "an" if pa.types.is_duration(type) else "a"
    return f'column "{column}": "{shown}" {verb} {article} {type_name(type)}'


def _is_number(text: str, type: pa.DataType) -> bool:
    """Whether a text that did not convert is a number of the kind, and so too large."""
    if pa.types.is_integer(type):
        return re.fullmatch(r"[-+]?[0-9]+", text) is not None
    number = pa.types.is_floating(type) or pa.types.is_decimal(type)
    return number and re.fullmatch(NUMBER, text) is not None


_NAMES = {
    pa.int64().id: "bigint",
    pa.float64().id: "double",
    pa.string().id: "string",
    pa.bool_().id: "boolean",
    pa.timestamp("us").id: "timestamp",
    pa.date32().id: "date",
    pa.duration("us").id: "interval",
}


def _cast_value(part: pa.Array, type: pa.DataType) -> pa.Array:
    """Typed values cast without loss, save digits that the type has no room for.

    Those are what a double does not hold, fractions of a microsecond, which are cut off, and digits
    after the scale of a decimal, which are rounded half away from zero.
    """
    given = part.type
    if pa.types.is_string(type):
        return _spelt(part)
    if pa.types.is_binary(given) or pa.types.is_large_binary(given):
        raise pa.ArrowNotImplementedError("bytes may be text, and nothing else")
    if given == type:
        return part
    if pa.types.is_timestamp(given) and pa.types.is_timestamp(type):
        whole = pc.floor_temporal(part, unit="microsecond") if given.unit == "ns" else part
        return whole.cast(pa.timestamp("us", given.tz)).cast(pa.int64()).cast(type)
    if pa.types.is_timestamp(given) and given.tz is not None and pa.types.is_date(type):
        return _cast_value(part, pa.timestamp("us")).cast(type)  # the day in UTC, as CAST gives
    if pa.types.is_duration(given) and given.unit == "ns":
        part = _floored(part)
    if pa.types.is_floating(given) and pa.types.is_decimal(type):
        if pc.any(pc.invert(pc.is_finite(part))).as_py():
            raise pa.ArrowInvalid("a decimal is finite")
        return from_doubles(part, type)
    if pa.types.is_integer(given) and pa.types.is_decimal(type):
        return pc.cast(pc.cast(part, pa.decimal128(20, 0)), type)
    if pa.types.is_decimal(given) and pa.types.is_decimal(type):
        return rounded(part, type)
    if pa.types.is_float64(type):
        return to_doubles(part)
    if pa.types.is_integer(type) and (pa.types.is_timestamp(given) or pa.types.is_duration(given)):
        unit = pa.timestamp("us") if pa.types.is_timestamp(given) else pa.duration("us")
        return _cast_value(part, unit).cast(type)  # microseconds, as CAST gives
    if pa.types.is_temporal(type) != pa.types.is_temporal(given):
        raise pa.ArrowNotImplementedError(f"the unit of {given} would be a guess")
    return pc.cast(part, type)


def _spelt(part: pa.Array) -> pa.Array:
    """Values as CAST makes strings of them; lists, maps and structs as JSON."""
    if is_nested(part.type):
        return pc.if_else(part.is_null(), pa.scalar(None, pa.string()), as_json(part))
    if pa.types.is_floating(part.type):
        return spell_doubles(part)
    if pa.types.is_timestamp(part.type):
        return spell_times(_cast_value(part, pa.timestamp("us")))
    if pa.types.is_decimal(part.type):
        return spell_decimals(part)
    if pa.types.is_duration(part.type):
        return plain(_cast_value(part, pa.duration("us")))
    return pc.cast(part, pa.string())


def _floored(nanoseconds: pa.Array) -> pa.Array:
    """Lengths of time without the fractions of their microseconds, those below zero too."""
    numbers = nanoseconds.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    missing = nanoseconds.is_null().to_numpy(zero_copy_only=False)
    return pa.array(numbers // 1000, pa.int64(), mask=missing).cast(pa.duration("us"))
