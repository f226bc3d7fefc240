"""Constants: how they are read from the text, and as another type."""

from __future__ import annotations

import math

import pyarrow as pa

from millstream.algebra.evaluate import cast
from millstream.algebra.expressions import Cast, Expression, Literal
from millstream.algebra.types import DOUBLE, INTEGER, STRING
from millstream.errors import MillstreamError


def coerce(value: Expression, kind: pa.DataType) -> Expression:
    """The value as another type; constants are converted at once."""
    if value.type == kind:
        return value
    if isinstance(value, Literal):
        try:
            converted = cast(pa.array([value.value], value.type), kind)[0].as_py()
            return Literal(pa.scalar(converted, kind).as_py(), kind)
        except (OverflowError, ValueError):  # a time outside of the years 1 to 9999
            return Literal(None, kind)
    return Cast(value, kind)


def literal(text: str, is_string: bool) -> Literal:
    if is_string:
        return Literal(text, STRING)
    if text.removeprefix("-").isdigit():
        if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
            raise MillstreamError(
                f"number {_shortened(text)} is too large for a bigint",
                hint="Write it as a double, with a point: 1e20.",
            )
        return Literal(int(text), INTEGER)
    if not math.isfinite(float(text)):
        sign = "-" if text.startswith("-") else ""
        raise MillstreamError(
            f"number {_shortened(text)} is too large for a double",
            hint=f"Write at most {sign}1.7976931348623157e308, "
            f"or CAST('{sign}Infinity' AS double).",
        )
    return Literal(float(text), DOUBLE)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}…"
