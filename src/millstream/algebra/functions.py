"""The scalar functions: for each its argument types, its result type, and how Arrow computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    common_type,
    is_numeric,
    is_temporal,
)

Types = Sequence[pa.DataType]
Signature = tuple[tuple[pa.DataType, ...], pa.DataType]
"""The types the arguments are cast to, and the type of the result."""


@dataclass(frozen=True)
class Function:
    """A scalar function: `sign` answers None when it does not take arguments of these types."""

    name: str
    usage: str
    sign: Callable[[Types], Signature | None]
    compute: Callable[..., Any]


def fixed(arguments: Types, result: pa.DataType, optional: int = 0) -> Callable[[Types], Signature | None]:
    """A signature that takes exactly these types, the last `optional` of which may be missing."""

    def sign(types: Types) -> Signature | None:
        if not len(arguments) - optional <= len(types) <= len(arguments):
            return None
        if all(_accepts(want, have) for want, have in zip(arguments, types)):
            return tuple(arguments[: len(types)]), result
        return None

    return sign


def _accepts(want: pa.DataType, have: pa.DataType) -> bool:
    if pa.types.is_null(have) or want == have:
        return True
    return (want == DOUBLE and is_numeric(have)) or (want == TIMESTAMP and have == DATE)


def _arithmetic(types: Types) -> Signature | None:
    if len(types) != 2:
        return None
    common = common_type(*types)
    if common is None or not (is_numeric(common) or pa.types.is_null(common)):
        return None
    if pa.types.is_decimal(common):
        wide = pa.decimal128(min(38, common.precision + 1), common.scale)
        return (common, common), wide
    common = INTEGER if pa.types.is_null(common) else common
    return (common, common), common


def _plus(types: Types) -> Signature | None:
    match list(types):
        case [left, right] if is_temporal(left) and right == INTERVAL:
            return (TIMESTAMP, INTERVAL), TIMESTAMP
        case [left, right] if left == INTERVAL and is_temporal(right):
            return (INTERVAL, TIMESTAMP), TIMESTAMP
        case [left, right] if left == INTERVAL and right == INTERVAL:
            return (INTERVAL, INTERVAL), INTERVAL
    return _arithmetic(types)


def _minus(types: Types) -> Signature | None:
    match list(types):
        case [left, right] if is_temporal(left) and right == INTERVAL:
            return (TIMESTAMP, INTERVAL), TIMESTAMP
        case [left, right] if is_temporal(left) and is_temporal(right):
            return (TIMESTAMP, TIMESTAMP), INTERVAL
        case [left, right] if left == INTERVAL and right == INTERVAL:
            return (INTERVAL, INTERVAL), INTERVAL
    return _arithmetic(types)


def _times(types: Types) -> Signature | None:
    if len(types) == 2 and any(pa.types.is_decimal(t) for t in types) and DOUBLE not in types:
        parts = [t if pa.types.is_decimal(t) else pa.decimal128(19, 0) for t in types]
        scale = sum(t.scale for t in parts)
        precision = sum(t.precision for t in parts) + 1
        if precision > 38:
            return (DOUBLE, DOUBLE), DOUBLE
        return tuple(parts), pa.decimal128(precision, scale)
    match list(types):
        case [left, right] if left == INTERVAL and right == INTEGER:
            return (INTERVAL, INTEGER), INTERVAL
        case [left, right] if left == INTEGER and right == INTERVAL:
            return (INTEGER, INTERVAL), INTERVAL
    return _arithmetic(types)


def _comparison(types: Types) -> Signature | None:
    if len(types) != 2:
        return None
    common = common_type(*types)
    if common is None:
        return None
    common = STRING if pa.types.is_null(common) else common
    return (common, common), BOOLEAN


def _alike(types: Types) -> Signature | None:
    """Any number of arguments of one common type, which is the result's."""
    if not types:
        return None
    common = types[0]
    for kind in types[1:]:
        joined = common_type(common, kind)
        if joined is None:
            return None
        common = joined
    return (common,) * len(types), common


def _number(types: Types) -> Signature | None:
    """One number, and the same type back."""
    if len(types) != 1 or not (is_numeric(types[0]) or pa.types.is_null(types[0])):
        return None
    kind = INTEGER if pa.types.is_null(types[0]) else types[0]
    return (kind,), kind


def _round(types: Types) -> Signature | None:
    if len(types) == 2 and types[1] == INTEGER:
        signature = _number(types[:1])
        return signature and ((signature[0][0], INTEGER), signature[1])
    return _number(types)


def _to_integer(types: Types) -> Signature | None:
    signature = _number(types)
    return signature and (signature[0], INTEGER)


def _exact_division(left: Any, right: Any) -> Any:
    return pc.divide(left, _not_zero(right, 0.0))


def _whole_division(left: Any, right: Any) -> Any:
    return pc.divide(left, _not_zero(right, 0))


def _modulo(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend; NULL for a zero divisor."""
    if pa.types.is_floating(left.type):
        a, b = left.to_numpy(zero_copy_only=False), right.to_numpy(zero_copy_only=False)
        with np.errstate(all="ignore"):
            values = pa.array(np.fmod(a, b), DOUBLE)
        unknown = pc.or_(pc.or_(pc.is_null(left), pc.is_null(right)), pc.equal(right, 0.0))
        return pc.if_else(pc.fill_null(unknown, True), pa.scalar(None, DOUBLE), values)
    if pa.types.is_decimal(left.type):
        quotient = pc.trunc(pc.divide(left.cast(DOUBLE), _not_zero(right.cast(DOUBLE), 0.0)))
        product = pc.multiply(quotient, right.cast(DOUBLE))
        return pc.round(pc.subtract(left.cast(DOUBLE), product), left.type.scale).cast(left.type)
    divisor = _not_zero(right, 0)
    return pc.subtract(left, pc.multiply(pc.divide(left, divisor), divisor))


def _not_zero(values: Any, zero: Any) -> Any:
    return pc.if_else(pc.equal(values, zero), pa.scalar(None, values.type), values)


def _scale_interval(left: Any, right: Any) -> Any:
    numbers = [a.cast(INTEGER) for a in (left, right)]
    return pc.multiply(*numbers).cast(INTERVAL)


def _multiply(left: Any, right: Any) -> Any:
    if INTERVAL in (left.type, right.type):
        return _scale_interval(left, right)
    return pc.multiply(left, right)


def _like(text: Any, pattern: Any) -> Any:
    """LIKE with one pattern for all rows, or one for each."""
    patterns = pc.unique(pattern)
    if len(patterns) == 1:
        if not patterns[0].is_valid:
            return pa.nulls(len(text), BOOLEAN)
        return pc.match_like(text, patterns[0].as_py())
    result = pa.nulls(len(text), BOOLEAN)
    for one in patterns:
        if one.is_valid:
            result = pc.if_else(
                pc.fill_null(pc.equal(pattern, one), False), pc.match_like(text, one.as_py()), result
            )
    return result


def _substring(text: Any, start: Any, length: Any | None = None) -> Any:
    """Characters from position `start`, counted from 1, or from the end when negative."""
    begin, size = _constant(start), _constant(length) if length is not None else None
    if begin is None or (length is not None and size is None):
        return pa.nulls(len(text), STRING)
    if begin < 0 and size is not None and begin + size < 0:
        return pc.utf8_slice_codeunits(text, begin, begin + size)
    if begin < 0:
        return pc.utf8_slice_codeunits(text, begin)
    first = max(begin - 1, 0)
    if size is None:
        return pc.utf8_slice_codeunits(text, first)
    stop = max(begin - 1 + size if begin else size, first)
    return pc.utf8_slice_codeunits(text, first, stop)


def _constant(values: Any) -> Any:
    """The one value of an argument that must be a constant."""
    return values[0].as_py() if len(values) else 0


def _left(text: Any, count: Any) -> Any:
    return pc.utf8_slice_codeunits(text, 0, max(_constant(count) or 0, 0))


def _right(text: Any, count: Any) -> Any:
    size = max(_constant(count) or 0, 0)
    if size == 0:
        return pc.utf8_slice_codeunits(text, 0, 0)
    return pc.utf8_slice_codeunits(text, -size)


def _round_half_up(values: Any, digits: Any | None = None) -> Any:
    places = (_constant(digits) or 0) if digits is not None else 0
    return pc.round(values, ndigits=places, round_mode="half_towards_infinity").cast(values.type)


def _whole(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: values if values.type == INTEGER else compute(values).cast(INTEGER, safe=False)


def _domain(compute: Callable[[Any], Any], inside: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """NULL where the function is not defined."""
    return lambda x: compute(pc.if_else(inside(x), x, pa.scalar(None, x.type)))


def _truncate(unit: Any, values: Any) -> Any:
    return pc.floor_temporal(values, unit=str(_constant(unit)).lower())


def _nullif(left: Any, right: Any) -> Any:
    same = pc.fill_null(pc.equal(left, right), False)
    return pc.if_else(same, pa.scalar(None, left.type), left)


def _unequal_safe(left: Any, right: Any) -> Any:
    """True when two values differ, NULL being a value like others."""
    differ = pc.fill_null(pc.not_equal(left, right), True)
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.and_not(differ, both)


def _part(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: compute(values).cast(INTEGER)


_BINARY = fixed((BOOLEAN, BOOLEAN), BOOLEAN)
_TEXT = fixed((STRING,), STRING)
_REAL = fixed((DOUBLE,), DOUBLE)
_DATE_PART = fixed((TIMESTAMP,), INTEGER)

_LIST = (
    Function("and", "a AND b", _BINARY, pc.and_kleene),
    Function("or", "a OR b", _BINARY, pc.or_kleene),
    Function("not", "NOT a", fixed((BOOLEAN,), BOOLEAN), pc.invert),
    Function("is_null", "a IS NULL", lambda t: (tuple(t), BOOLEAN) if len(t) == 1 else None, pc.is_null),
    Function("distinct_from", "a IS DISTINCT FROM b", _comparison, _unequal_safe),
    Function("=", "a = b", _comparison, pc.equal),
    Function("<>", "a <> b", _comparison, pc.not_equal),
    Function("<", "a < b", _comparison, pc.less),
    Function("<=", "a <= b", _comparison, pc.less_equal),
    Function(">", "a > b", _comparison, pc.greater),
    Function(">=", "a >= b", _comparison, pc.greater_equal),
    Function("+", "a + b", _plus, pc.add),
    Function("-", "a - b", _minus, pc.subtract),
    Function("*", "a * b", _times, _multiply),
    Function("/", "a / b", fixed((DOUBLE, DOUBLE), DOUBLE), _exact_division),
    Function("div", "a div b", fixed((INTEGER, INTEGER), INTEGER), _whole_division),
    Function("%", "a % b", _arithmetic, _modulo),
    Function("neg", "-a", _number, pc.negate),
    Function("like", "a LIKE pattern", fixed((STRING, STRING), BOOLEAN), _like),
    Function("coalesce", "coalesce(a, b, …)", _alike, pc.coalesce),
    Function("nullif", "nullif(a, b)", lambda t: _alike(t) if len(t) == 2 else None, _nullif),
    Function("greatest", "greatest(a, b, …)", _alike, pc.max_element_wise),
    Function("least", "least(a, b, …)", _alike, pc.min_element_wise),
    Function("upper", "upper(text)", _TEXT, pc.utf8_upper),
    Function("lower", "lower(text)", _TEXT, pc.utf8_lower),
    Function("length", "length(text)", fixed((STRING,), INTEGER), lambda t: pc.utf8_length(t).cast(INTEGER)),
    Function("trim", "trim(text)", _TEXT, lambda t: pc.utf8_trim(t, " ")),
    Function("ltrim", "ltrim(text)", _TEXT, lambda t: pc.utf8_ltrim(t, " ")),
    Function("rtrim", "rtrim(text)", _TEXT, lambda t: pc.utf8_rtrim(t, " ")),
    Function("reverse", "reverse(text)", _TEXT, pc.utf8_reverse),
    Function("initcap", "initcap(text)", _TEXT, pc.utf8_title),
    Function(
        "substring", "substring(text, start[, length])",
        fixed((STRING, INTEGER, INTEGER), STRING, optional=1), _substring,
    ),
    Function("left", "left(text, count)", fixed((STRING, INTEGER), STRING), _left),
    Function("right", "right(text, count)", fixed((STRING, INTEGER), STRING), _right),
    Function(
        "replace", "replace(text, from, to)", fixed((STRING, STRING, STRING), STRING),
        lambda t, a, b: pc.replace_substring(t, _constant(a) or "", _constant(b) or ""),
    ),
    Function(
        "concat", "concat(a, b, …)", lambda t: ((STRING,) * len(t), STRING) if t else None,
        lambda *parts: pc.binary_join_element_wise(*parts, ""),
    ),
    Function(
        "position", "position(part IN text)", fixed((STRING, STRING), INTEGER),
        lambda part, text: pc.add(pc.find_substring(text, _constant(part) or ""), 1).cast(INTEGER),
    ),
    Function("starts_with", "startswith(text, part)", fixed((STRING, STRING), BOOLEAN),
             lambda t, p: pc.starts_with(t, _constant(p) or "")),
    Function("ends_with", "endswith(text, part)", fixed((STRING, STRING), BOOLEAN),
             lambda t, p: pc.ends_with(t, _constant(p) or "")),
    Function("contains", "contains(text, part)", fixed((STRING, STRING), BOOLEAN),
             lambda t, p: pc.match_substring(t, _constant(p) or "")),
    Function("abs", "abs(number)", _number, pc.abs),
    Function("sign", "sign(number)", _to_integer, lambda x: pc.sign(x).cast(INTEGER)),
    Function("round", "round(number[, digits])", _round, _round_half_up),
    Function("floor", "floor(number)", _to_integer, _whole(pc.floor)),
    Function("ceil", "ceil(number)", _to_integer, _whole(pc.ceil)),
    Function("trunc", "trunc(number)", _to_integer, _whole(pc.trunc)),
    Function("sqrt", "sqrt(number)", _REAL, _domain(pc.sqrt, lambda x: pc.greater_equal(x, 0.0))),
    Function("exp", "exp(number)", _REAL, pc.exp),
    Function("ln", "ln(number)", _REAL, _domain(pc.ln, lambda x: pc.greater(x, 0.0))),
    Function("log10", "log10(number)", _REAL, _domain(pc.log10, lambda x: pc.greater(x, 0.0))),
    Function("log2", "log2(number)", _REAL, _domain(pc.log2, lambda x: pc.greater(x, 0.0))),
    Function("power", "power(base, exponent)", fixed((DOUBLE, DOUBLE), DOUBLE), pc.power),
    Function("sin", "sin(number)", _REAL, pc.sin),
    Function("cos", "cos(number)", _REAL, pc.cos),
    Function("tan", "tan(number)", _REAL, pc.tan),
    Function("year", "year(time)", _DATE_PART, _part(pc.year)),
    Function("quarter", "quarter(time)", _DATE_PART, _part(pc.quarter)),
    Function("month", "month(time)", _DATE_PART, _part(pc.month)),
    Function("week", "week(time)", _DATE_PART, _part(pc.iso_week)),
    Function("day", "day(time)", _DATE_PART, _part(pc.day)),
    Function("dayofweek", "dayofweek(time)", _DATE_PART,
             _part(lambda t: pc.day_of_week(t, count_from_zero=False, week_start=7))),
    Function("dayofyear", "dayofyear(time)", _DATE_PART, _part(pc.day_of_year)),
    Function("hour", "hour(time)", _DATE_PART, _part(pc.hour)),
    Function("minute", "minute(time)", _DATE_PART, _part(pc.minute)),
    Function("second", "second(time)", _DATE_PART, _part(pc.second)),
    Function("date_trunc", "date_trunc('unit', time)", fixed((STRING, TIMESTAMP), TIMESTAMP), _truncate),
    Function("to_date", "to_date(time)", fixed((TIMESTAMP,), DATE), lambda t: t.cast(DATE, safe=False)),
    Function("unix_micros", "unix_micros(time)", fixed((TIMESTAMP,), INTEGER), lambda t: t.cast(INTEGER)),
)

FUNCTIONS = {function.name: function for function in _LIST}
CONSTANT_ARGUMENTS = {
    "substring": (1, 2), "left": (1,), "right": (1,), "replace": (1, 2), "position": (0,),
    "starts_with": (1,), "ends_with": (1,), "contains": (1,), "round": (1,), "date_trunc": (0,),
}
"""Arguments that must be the same for every row."""
