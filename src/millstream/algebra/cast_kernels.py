"""How values become others by CAST where Arrow's own casts do not do: spelled out, and read."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.kernels import mapped
from millstream.algebra.types import INTEGER, STRING


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


def spell_decimals(values: pa.Array) -> pa.Array:
    """Decimals with all digits of their scale; Arrow writes very small ones with an exponent."""
    texts = values.cast(STRING)
    odd = pc.match_substring(texts, "E").fill_null(False)
    if not pc.any(odd).as_py():
        return texts
    spelt = [format(value, "f") for value in values.filter(odd).to_pylist()]
    return pc.replace_with_mask(texts, odd, pa.array(spelt, STRING))


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_decimals(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Integers as decimals; Arrow asks for room for all 19 digits, whatever the values are."""
    if kind.scale > 19:
        return mapped(lambda value: _quantized(str(value), kind), kind)(values)
    return values.cast(pa.decimal128(19 + kind.scale, kind.scale)).cast(kind)


def _quantized(text: str, kind: pa.DataType) -> Decimal | None:
    with localcontext() as context:
        context.prec = 76
        try:
            value = Decimal(text).quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
        except ArithmeticError:
            return None
    fits = value.is_finite() and len(value.as_tuple().digits) <= kind.precision
    return value if fits else None
