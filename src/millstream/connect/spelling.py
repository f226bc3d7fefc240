"""How each type is read from text: Arrow's reading, and the spellings it does not know."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_MILLION = pa.scalar(Decimal(1_000_000), pa.decimal128(7, 0))
_ZONE = r":\d\d(\.\d+)?(Z|z|[+-]\d\d(:?\d\d)?)$"
_CLOCK = r"^(?P<sign>-?)(?P<hours>\d{1,9}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d(?:\.\d{1,6})?)$"


def reader_of(type: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """The vectorised reading of a type from text; raises `ArrowInvalid` on any bad cell."""
    if pa.types.is_timestamp(type):
        return _read_timestamps
    if pa.types.is_duration(type):
        return _read_durations
    return lambda cells: cells.cast(type)


def cleaned(cells: pa.Array, type: pa.DataType) -> pa.Array:
    """Cells without outer spaces, in the spelling Arrow reads; a cell of nothing is NULL."""
    cells = pc.utf8_trim_whitespace(cells)
    cells = pc.if_else(pc.equal(cells, ""), pa.scalar(None, cells.type), cells)
    if pa.types.is_integer(type):
        return pc.replace_substring_regex(cells, r"^\+?(-?[0-9]+)(\.0*)?$", r"\1")
    if pa.types.is_boolean(type):
        lowered = pc.utf8_lower(cells)
        return pc.replace_substring_regex(
            pc.replace_substring_regex(lowered, "^t$", "true"), "^f$", "false"
        )
    if pa.types.is_timestamp(type):
        cells = pc.replace_substring_regex(cells, r"(:\d\d\.\d{6})\d+", r"\1")
        return pc.replace_substring_regex(cells, r"(:\d\d(?:\.\d+)?) +(Z|z|[+-]\d)", r"\1\2")
    if pa.types.is_decimal(type):
        return _round_text(cells, type)
    return cells


def _read_timestamps(cells: pa.Array) -> pa.Array:
    """Timestamps with and without zones; those with one become UTC."""
    plain = pa.timestamp("us")
    try:
        return cells.cast(plain)
    except pa.ArrowInvalid:
        zoned = pc.match_substring_regex(cells, _ZONE)
        if not pc.any(zoned).as_py():
            raise
        nothing = pa.scalar(None, cells.type)
        instants = pc.if_else(zoned, cells, nothing).cast(pa.timestamp("us", "UTC"))
        return pc.if_else(
            zoned, instants.cast(plain), pc.if_else(zoned, nothing, cells).cast(plain)
        )


def _read_durations(cells: pa.Array) -> pa.Array:
    """Durations as seconds with a fraction, or as `hours:minutes:seconds`."""
    clock = pc.match_substring_regex(cells, _CLOCK).fill_null(False)
    nothing = pa.scalar(None, pa.string())
    seconds = pc.if_else(clock, nothing, cells).cast(pa.decimal128(24, 6))
    micros = _micros(seconds)
    if pc.any(clock).as_py():
        parts = pc.extract_regex(pc.if_else(clock, cells, "0:00:00"), _CLOCK)
        whole = pc.add(
            pc.multiply(parts.field("hours").cast(pa.int64()), 3600),
            pc.multiply(parts.field("minutes").cast(pa.int64()), 60),
        )
        total = pc.add(
            pc.multiply(whole, 1_000_000),
            _micros(parts.field("seconds").cast(pa.decimal128(24, 6))),
        )
        signed = pc.if_else(pc.equal(parts.field("sign"), "-"), pc.negate(total), total)
        micros = pc.if_else(clock, signed, micros)
    return micros.cast(pa.duration("us"))


def _micros(seconds: pa.Array) -> pa.Array:
    return pc.multiply(seconds, _MILLION).cast(pa.int64())


def _round_text(cells: pa.Array, type: pa.DataType) -> pa.Array:
    """Decimal text rounded to the declared scale, half away from zero."""
    if not 0 <= type.scale <= 36:
        return cells
    pattern = rf"^[-+]?[0-9]{{0,{37 - type.scale}}}\.[0-9]{{{type.scale + 1},37}}$"
    long = pc.match_substring_regex(cells, pattern).fill_null(False)
    if not pc.any(long).as_py():
        return cells
    kept = pc.replace_substring_regex(cells, rf"(\.[0-9]{{{type.scale + 1}}})[0-9]+$", r"\1")
    wide = pc.if_else(long, kept, pa.scalar(None, cells.type)).cast(
        pa.decimal128(38, type.scale + 1)
    )
    rounded = pc.round(wide, ndigits=type.scale, round_mode="half_towards_infinity")
    return pc.if_else(long, rounded.cast(pa.decimal128(38, type.scale)).cast(pa.string()), cells)
