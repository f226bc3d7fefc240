"""How values become others by CAST where Arrow's own casts do not do: spelled out, and read."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.kernels import mapped
from millstream.algebra.types import BOOLEAN, INTEGER, STRING, TIMESTAMP


def spell_doubles(values: pa.Array) -> pa.Array:
    """Whole doubles keep their point: 1.0."""
    return pc.replace_substring_regex(values.cast(STRING), r"^(-?\d+)$", r"\1.0")


def spell_times(values: pa.Array) -> pa.Array:
    """Timestamps without a fraction of zeros."""
    texts = pc.strftime(values, format="%Y-%m-%d %H:%M:%S")
    return pc.replace_substring_regex(texts, r"\.?0*$", "")


def spell_intervals(values: pa.Array) -> pa.Array:
    """Intervals as a number of seconds, as they stand in files."""
    return mapped(lambda micros: _plain(Decimal(micros) / 1_000_000), STRING)(values.cast(INTEGER))


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_decimals(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Integers as decimals; Arrow asks for room for all 19 digits, whatever the values are."""
    if kind.scale > 19:
        return mapped(lambda value: _quantized(str(value), kind), kind)(values)
    return values.cast(pa.decimal128(19 + kind.scale, kind.scale)).cast(kind)


def read_decimals(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Decimal texts rounded to the scale, half away from zero."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return mapped(lambda text: _quantized(text, kind), kind)(texts)


def _quantized(text: str, kind: pa.DataType) -> Decimal | None:
    with localcontext() as context:
        context.prec = 76
        try:
            value = Decimal(text).quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
        except ArithmeticError:
            return None
    fits = value.is_finite() and len(value.as_tuple().digits) <= kind.precision
    return value if fits else None


def read_times(texts: pa.Array) -> pa.Array:
    """Timestamps; those with a zone become UTC."""
    try:
        return texts.cast(TIMESTAMP)
    except pa.ArrowInvalid:
        return texts.cast(pa.timestamp("us", "UTC")).cast(TIMESTAMP)


def read_booleans(texts: pa.Array) -> pa.Array:
    words = {
        **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
        **dict.fromkeys(("false", "f", "no", "n", "0"), False),
    }
    return mapped(lambda text: words.get(text.lower()), BOOLEAN)(texts)
