"""How each type is written as text: what Arrow reads, what it does not know, what it reads wrongly.

Files, databases and CAST read text by these rules, which the manual gives in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FIRST_MICRO, LAST_MICRO = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The instants of the years 1 to 9999: those that Python, and most others, can name."""

NUMBER = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
_FIRST_DAY = -719_162
_MILLION = pa.scalar(Decimal(1_000_000), pa.decimal128(7, 0))
_ZONE = r":\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)$"
_CLOCK = r"^(?P<sign>-?)(?P<hours>\d{1,9}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d(?:\.\d{1,6})?)$"
_NOT_FINITE = r"(?i)^[-+]?(nan|inf|infinity)$"
_EXPONENT = rf"^{NUMBER}$"
_MORE_DIGITS = 25
_LONG = 38
"""Digits of the longest decimal."""


def reader_of(type: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """The vectorised reading of a type from text; raises `ArrowInvalid` on any bad cell."""
    if pa.types.is_timestamp(type):
        return _read_timestamps
    if pa.types.is_duration(type):
        return _read_durations
    if pa.types.is_integer(type):
        return _read_integers
    if pa.types.is_floating(type):
        return _read_doubles
    if pa.types.is_date(type):
        return _read_dates
    if pa.types.is_decimal(type):
        return lambda cells: _read_decimals(cells, type)
    return lambda cells: cells.cast(type)


def cleaned(cells: pa.Array, type: pa.DataType) -> pa.Array:
    """Cells without outer spaces, in the spelling Arrow reads; a cell of nothing is NULL."""
    cells = pc.utf8_trim_whitespace(cells)
    cells = pc.if_else(pc.equal(cells, ""), pa.scalar(None, cells.type), cells)
    if pa.types.is_integer(type):
        cells = _respelt(cells, r"[eE]", _whole_number)
        return pc.replace_substring_regex(cells, r"^(?:\+|(-))?([0-9]+)(\.0*)?$", r"\1\2")
    if pa.types.is_boolean(type):
        lowered = pc.utf8_lower(cells)
        yes = pc.replace_substring_regex(lowered, "^(t|y|yes)$", "true")
        return pc.replace_substring_regex(yes, "^(f|n|no)$", "false")
    if pa.types.is_timestamp(type) or pa.types.is_date(type):
        return _clean_times(cells)
    if pa.types.is_duration(type):
        return pc.replace_substring_regex(cells, r"(\.\d{6})\d+$", r"\1")
    if pa.types.is_decimal(type):
        cells = _respelt(cells, r"[eE]", lambda text: _quantized(text, type))
        return _round_text(pc.replace_substring_regex(cells, r"^([-+]?)0+([0-9])", r"\1\2"), type)
    return cells


def rounded(values: pa.Array, type: pa.DataType) -> pa.Array:
    """Decimals as another decimal type, rounded to its scale half away from zero."""
    wide = values.cast(pa.decimal256(76, values.type.scale))
    if values.type.scale > type.scale:
        wide = pc.round(wide, ndigits=type.scale, round_mode="half_towards_infinity")
    return wide.cast(pa.decimal256(76, type.scale)).cast(type)


def from_doubles(values: pa.Array, type: pa.DataType) -> pa.Array:
    """The decimals nearest to doubles; of two that are as near the one away from zero.

    Arrow's cast takes the even one, so more digits than a tie can have are cast, and then rounded.
    """
    wide = values.cast(pa.float64()).cast(pa.decimal256(76, type.scale + _MORE_DIGITS))
    return rounded(wide, type)


def _clean_times(cells: pa.Array) -> pa.Array:
    for pattern, spelt in (
        (r"^(\d{4}-\d\d-\d\d)t", r"\1T"),
        (r"(:\d\d),(\d)", r"\1.\2"),
        (r"(:\d\d\.\d{6})\d+", r"\1"),
        (r"(:\d\d(?:\.\d+)?) *(?:[zZ]|UTC|GMT)$", r"\1Z"),
        (r"(:\d\d(?:\.\d+)?) +([+-]\d)", r"\1\2"),
    ):
        cells = pc.replace_substring_regex(cells, pattern, spelt)
    return cells


def _read_integers(cells: pa.Array) -> pa.Array:
    """Whole numbers. Arrow takes hexadecimal ones too, and 0xFFFFFFFFFFFFFFFF for -1."""
    if _largest_byte(cells) > ord("9") and pc.any(pc.match_substring_regex(cells, "[xX]")).as_py():
        raise pa.ArrowInvalid("hexadecimal")
    return cells.cast(pa.int64())


def _read_doubles(cells: pa.Array) -> pa.Array:
    """The nearest doubles. Arrow takes for infinite what is too large, and such as nan(12)."""
    values = cells.cast(pa.float64())
    odd = pc.invert(pc.is_finite(values)).fill_null(False)
    if pc.any(odd).as_py():
        spelt = pc.match_substring_regex(cells.filter(odd), _NOT_FINITE)
        if not pc.all(spelt).as_py():
            raise pa.ArrowInvalid("too large")
    return values


def _read_decimals(cells: pa.Array, type: pa.DataType) -> pa.Array:
    """Decimals. Arrow gives some number or other for texts of more digits than a decimal has."""
    if (pc.max(pc.binary_length(cells)).as_py() or 0) > _LONG:
        few = pc.match_substring_regex(cells, rf"^[-+]?0*\.?([0-9]\.?){{0,{_LONG}}}([eE].*)?$")
        if not pc.all(few).as_py():
            raise pa.ArrowInvalid("too many digits")
    return cells.cast(type)


def _read_dates(cells: pa.Array) -> pa.Array:
    """Days; a timestamp is its day in UTC."""
    try:
        days = cells.cast(pa.date32())
    except pa.ArrowInvalid:
        days = _read_timestamps(cells).cast(pa.date32())
    first = pc.min(days.cast(pa.int32())).as_py()
    if first is not None and first < _FIRST_DAY:
        raise pa.ArrowInvalid("before the year 1")
    return days


def _read_timestamps(cells: pa.Array) -> pa.Array:
    """Timestamps with and without zones; those with one become UTC."""
    plain = pa.timestamp("us")
    try:
        times = cells.cast(plain)
    except pa.ArrowInvalid:
        zoned = pc.match_substring_regex(cells, _ZONE)
        if not pc.any(zoned).as_py():
            raise
        nothing = pa.scalar(None, cells.type)
        instants = pc.if_else(zoned, cells, nothing).cast(pa.timestamp("us", "UTC"))
        times = pc.if_else(
            zoned, instants.cast(plain), pc.if_else(zoned, nothing, cells).cast(plain)
        )
    first, last = pc.min_max(times.cast(pa.int64())).as_py().values()
    if first is not None and (first < FIRST_MICRO or last > LAST_MICRO):
        raise pa.ArrowInvalid("not in the years 1 to 9999")
    return times


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


def _largest_byte(cells: pa.Array) -> int:
    """The largest byte of all texts: much faster to find than a match of each."""
    _, offsets, data = cells.buffers()
    if data is None or not len(cells):
        return 0
    ends = np.frombuffer(offsets, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    found = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    return int(found.max()) if len(found) else 0


def _respelt(cells: pa.Array, mark: str, spell: Callable[[str], Decimal | None]) -> pa.Array:
    """Numbers with a rare mark in them, each different one spelt out; others stay as they are."""
    odd = pc.and_(
        pc.match_substring_regex(cells, mark), pc.match_substring_regex(cells, _EXPONENT)
    ).fill_null(False)
    if not pc.any(odd).as_py():
        return cells
    found = cells.filter(odd).dictionary_encode()
    numbers = [(text, spell(text)) for text in found.dictionary.to_pylist()]
    texts = [text if number is None else f"{number:f}" for text, number in numbers]
    return pc.replace_with_mask(cells, odd, pa.array(texts, pa.string()).take(found.indices))


def _whole_number(text: str) -> Decimal | None:
    """A whole number with an exponent, if it may be a bigint."""
    number = Decimal(text)
    if number.adjusted() > 18:
        return None
    return number.to_integral_value() if number == number.to_integral_value() else None


def _quantized(text: str, kind: pa.DataType) -> Decimal | None:
    with localcontext() as context:
        context.prec = 76
        try:
            return Decimal(text).quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
        except ArithmeticError:
            return None


def _round_text(cells: pa.Array, type: pa.DataType) -> pa.Array:
    """Decimal text rounded to the declared scale, half away from zero.

    The first digit that is dropped decides, so that those after it are not looked at.
    """
    digits = type.scale + 1
    long = pc.match_substring_regex(cells, rf"^[-+]?[0-9]{{0,37}}\.[0-9]{{{digits},}}$")
    long = long.fill_null(False)
    if not pc.any(long).as_py():
        return cells
    kept = pc.replace_substring_regex(cells, rf"(\.[0-9]{{{digits}}})[0-9]+$", r"\1")
    wide = pc.if_else(long, kept, pa.scalar(None, cells.type)).cast(pa.decimal256(76, digits))
    near = pc.round(wide, ndigits=type.scale, round_mode="half_towards_infinity")
    return pc.if_else(long, near.cast(pa.decimal256(76, type.scale)).cast(pa.string()), cells)
