"""The scalar functions: for each its argument types, its result type, and how Arrow computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra import kernels, text_kernels
from millstream.algebra.kernels import by_value, inside, mapped, time_part
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


def fixed(
    arguments: Types, result: pa.DataType, optional: int = 0
) -> Callable[[Types], Signature | None]:
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


def _modulo(types: Types) -> Signature | None:
    signature = _arithmetic(types)
    return signature and (signature[0], signature[0][0])


def _whole_division(types: Types) -> Signature | None:
    signature = _arithmetic(types)
    return signature and (signature[0], INTEGER)


def _known(types: Types, beside: pa.DataType = INTERVAL) -> list[pa.DataType]:
    """The types, with a NULL beside a time or an interval read as what may stand there."""
    times = any(is_temporal(t) or t == INTERVAL for t in types)
    return [beside if times and pa.types.is_null(t) else t for t in types]


def _plus(types: Types) -> Signature | None:
    match _known(types):
        case [left, right] if is_temporal(left) and right == INTERVAL:
            return (TIMESTAMP, INTERVAL), TIMESTAMP
        case [left, right] if left == INTERVAL and is_temporal(right):
            return (INTERVAL, TIMESTAMP), TIMESTAMP
        case [left, right] if left == INTERVAL and right == INTERVAL:
            return (INTERVAL, INTERVAL), INTERVAL
    return _arithmetic(types)


def _minus(types: Types) -> Signature | None:
    match _known(types):
        case [left, right] if is_temporal(left) and right == INTERVAL:
            return (TIMESTAMP, INTERVAL), TIMESTAMP
        case [left, right] if is_temporal(left) and is_temporal(right):
            return (TIMESTAMP, TIMESTAMP), INTERVAL
        case [left, right] if left == INTERVAL and right == INTERVAL:
            return (INTERVAL, INTERVAL), INTERVAL
    return _arithmetic(types)


def _times(types: Types) -> Signature | None:
    exact = all(is_numeric(t) or pa.types.is_null(t) for t in types) and DOUBLE not in types
    if len(types) == 2 and exact and any(pa.types.is_decimal(t) for t in types):
        parts = [t if pa.types.is_decimal(t) else pa.decimal128(19, 0) for t in types]
        scale = sum(t.scale for t in parts)
        precision = sum(t.precision for t in parts) + 1
        if precision > 38:
            return (DOUBLE, DOUBLE), DOUBLE
        return tuple(parts), pa.decimal128(precision, scale)
    match _known(types, INTEGER):
        case [left, right] if left == INTERVAL and right == INTEGER:
            return (INTERVAL, INTEGER), INTERVAL
        case [left, right] if left == INTEGER and right == INTERVAL:
            return (INTEGER, INTERVAL), INTERVAL
    return _arithmetic(types)


def _equality(types: Types) -> Signature | None:
    if len(types) != 2:
        return None
    common = common_type(*types)
    if common is None:
        return None
    common = STRING if pa.types.is_null(common) else common
    return (common, common), BOOLEAN


def _comparison(types: Types) -> Signature | None:
    signature = _equality(types)
    return None if signature and pa.types.is_list(signature[0][0]) else signature


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


def _ordered_alike(types: Types) -> Signature | None:
    signature = _alike(types)
    return None if signature and pa.types.is_list(signature[1]) else signature


def _two_alike(types: Types) -> Signature | None:
    return _alike(types) if len(types) == 2 else None


def _anything(types: Types) -> Signature | None:
    return (tuple(types), BOOLEAN) if len(types) == 1 else None


def _number(types: Types) -> Signature | None:
    """One number, and the same type back."""
    if len(types) != 1 or not (is_numeric(types[0]) or pa.types.is_null(types[0])):
        return None
    kind = INTEGER if pa.types.is_null(types[0]) else types[0]
    return (kind,), kind


def _number_or_interval(types: Types) -> Signature | None:
    return ((INTERVAL,), INTERVAL) if list(types) == [INTERVAL] else _number(types)


def _round(types: Types) -> Signature | None:
    if len(types) == 2 and (types[1] == INTEGER or pa.types.is_null(types[1])):
        signature = _number(types[:1])
        return signature and ((signature[0][0], INTEGER), signature[1])
    return _number(types)


def _to_integer(types: Types) -> Signature | None:
    signature = _number(types)
    return signature and (signature[0], INTEGER)


def _days(arguments: Types, result: pa.DataType) -> Callable[[Types], Signature | None]:
    """A signature of whole days, which takes timestamps too."""
    sign = fixed(arguments, result)
    return lambda types: sign([DATE if kind == TIMESTAMP else kind for kind in types])


def _fixed2(arguments: pa.DataType, result: pa.DataType) -> Callable[[Types], Signature | None]:
    return fixed((arguments, arguments), result)


def _first_known(*values: Any) -> Any:
    return values[0] if pa.types.is_null(values[0].type) else pc.coalesce(*values)


def _trim(compute: Callable[[Any, str], Any]) -> Callable[..., Any]:
    by_characters = by_value(compute)
    return lambda text, *characters: (
        by_characters(text, *characters) if characters else compute(text, " ")
    )


def _numpy(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of numpy on doubles; NULL stays NULL."""

    def run(values: pa.Array) -> pa.Array:
        numbers = pa.array(compute(values.fill_null(0.0).to_numpy(zero_copy_only=False)))
        return pc.if_else(pc.is_null(values), pa.scalar(None, DOUBLE), numbers)

    return run


_LEAST = 5e-324
_BINARY = fixed((BOOLEAN, BOOLEAN), BOOLEAN)
_TEST = fixed((STRING, STRING), BOOLEAN)
_TEXT = fixed((STRING,), STRING)
_COUNT = fixed((STRING,), INTEGER)
_CUT = fixed((STRING, INTEGER), STRING)
_TRIM = fixed((STRING, STRING), STRING, optional=1)
_PAD = fixed((STRING, INTEGER, STRING), STRING, optional=1)
_THREE_TEXTS = fixed((STRING, STRING, STRING), STRING)
_REAL = fixed((DOUBLE,), DOUBLE)
_DATE_PART = fixed((TIMESTAMP,), INTEGER)

_LIST = (
    Function("and", "a AND b", _BINARY, pc.and_kleene),
    Function("or", "a OR b", _BINARY, pc.or_kleene),
    Function("not", "NOT a", fixed((BOOLEAN,), BOOLEAN), pc.invert),
    Function("is_null", "a IS NULL", _anything, pc.is_null),
    Function("distinct_from", "a IS DISTINCT FROM b", _equality, kernels.distinct_from),
    Function("=", "a = b", _equality, kernels.equal),
    Function("<>", "a <> b", _equality, kernels.not_equal),
    Function("<", "a < b", _comparison, pc.less),
    Function("<=", "a <= b", _comparison, pc.less_equal),
    Function(">", "a > b", _comparison, pc.greater),
    Function(">=", "a >= b", _comparison, pc.greater_equal),
    Function("+", "a + b", _plus, kernels.add),
    Function("-", "a - b", _minus, kernels.subtract),
    Function("*", "a * b", _times, kernels.multiply),
    Function("/", "a / b", _fixed2(DOUBLE, DOUBLE), kernels.exact_division),
    Function("div", "a div b", _whole_division, kernels.whole_division),
    Function("%", "a % b", _modulo, kernels.modulo),
    Function("neg", "-a", _number_or_interval, pc.negate_checked),
    Function("like", "a LIKE pattern", _TEST, by_value(pc.match_like)),
    Function(
        "regexp_like", "regexp_like(text, pattern)", _TEST, by_value(pc.match_substring_regex)
    ),
    Function("coalesce", "coalesce(a, b, …)", _alike, _first_known),
    Function("nullif", "nullif(a, b)", _two_alike, kernels.nullif),
    Function("greatest", "greatest(a, b, …)", _ordered_alike, kernels.largest),
    Function("least", "least(a, b, …)", _ordered_alike, kernels.smallest),
    Function("upper", "upper(text)", _TEXT, pc.utf8_upper),
    Function("lower", "lower(text)", _TEXT, pc.utf8_lower),
    Function("length", "length(text)", _COUNT, lambda t: pc.utf8_length(t).cast(INTEGER)),
    Function("trim", "trim(text[, characters])", _TRIM, _trim(pc.utf8_trim)),
    Function("ltrim", "ltrim(text[, characters])", _TRIM, _trim(pc.utf8_ltrim)),
    Function("rtrim", "rtrim(text[, characters])", _TRIM, _trim(pc.utf8_rtrim)),
    Function("lpad", "lpad(text, length[, fill])", _PAD, mapped(text_kernels.pad_left, STRING)),
    Function("rpad", "rpad(text, length[, fill])", _PAD, mapped(text_kernels.pad_right, STRING)),
    Function("repeat", "repeat(text, count)", _CUT, mapped(text_kernels.repeat, STRING)),
    Function("reverse", "reverse(text)", _TEXT, pc.utf8_reverse),
    Function("initcap", "initcap(text)", _TEXT, pc.utf8_title),
    Function(
        "substring",
        "substring(text, start[, length])",
        fixed((STRING, INTEGER, INTEGER), STRING, optional=1),
        by_value(text_kernels.slice_text),
    ),
    Function("left", "left(text, count)", _CUT, by_value(text_kernels.left)),
    Function("right", "right(text, count)", _CUT, by_value(text_kernels.right)),
    Function(
        "split_part",
        "split_part(text, separator, number)",
        fixed((STRING, STRING, INTEGER), STRING),
        mapped(text_kernels.part_of, STRING),
    ),
    Function("replace", "replace(text, from, to)", _THREE_TEXTS, by_value(text_kernels.replace)),
    Function(
        "regexp_replace",
        "regexp_replace(text, pattern, to)",
        _THREE_TEXTS,
        by_value(pc.replace_substring_regex),
    ),
    Function(
        "concat",
        "concat(a, b, …)",
        lambda t: ((STRING,) * len(t), STRING) if t else None,
        lambda *parts: pc.binary_join_element_wise(*parts, ""),
    ),
    Function(
        "concat_ws",
        "concat_ws(separator, a, b, …)",
        lambda t: ((STRING,) * len(t), STRING) if len(t) > 1 else None,
        text_kernels.join_texts,
    ),
    Function(
        "position",
        "position(part IN text)",
        _fixed2(STRING, INTEGER),
        lambda part, text: by_value(text_kernels.position)(text, part),
    ),
    Function("starts_with", "startswith(text, part)", _TEST, by_value(pc.starts_with)),
    Function("ends_with", "endswith(text, part)", _TEST, by_value(pc.ends_with)),
    Function("contains", "contains(text, part)", _TEST, by_value(pc.match_substring)),
    Function("abs", "abs(number)", _number, pc.abs_checked),
    Function("sign", "sign(number)", _to_integer, lambda x: pc.sign(x).cast(INTEGER)),
    Function("round", "round(number[, digits])", _round, by_value(kernels.round_half_up)),
    Function("floor", "floor(number)", _to_integer, kernels.whole(pc.floor)),
    Function("ceil", "ceil(number)", _to_integer, kernels.whole(pc.ceil)),
    Function("trunc", "trunc(number)", _to_integer, kernels.whole(pc.trunc)),
    Function("sqrt", "sqrt(number)", _REAL, inside(pc.sqrt, 0.0)),
    Function("cbrt", "cbrt(number)", _REAL, _numpy(np.cbrt)),
    Function("exp", "exp(number)", _REAL, pc.exp),
    Function("ln", "ln(number)", _REAL, inside(pc.ln, _LEAST)),
    Function("log10", "log10(number)", _REAL, inside(pc.log10, _LEAST)),
    Function("log2", "log2(number)", _REAL, inside(pc.log2, _LEAST)),
    Function("power", "power(base, exponent)", _fixed2(DOUBLE, DOUBLE), kernels.power),
    Function("sin", "sin(number)", _REAL, pc.sin),
    Function("cos", "cos(number)", _REAL, pc.cos),
    Function("tan", "tan(number)", _REAL, pc.tan),
    Function("asin", "asin(number)", _REAL, inside(pc.asin, -1.0, 1.0)),
    Function("acos", "acos(number)", _REAL, inside(pc.acos, -1.0, 1.0)),
    Function("atan", "atan(number)", _REAL, pc.atan),
    Function("atan2", "atan2(y, x)", _fixed2(DOUBLE, DOUBLE), pc.atan2),
    Function("degrees", "degrees(number)", _REAL, _numpy(np.degrees)),
    Function("radians", "radians(number)", _REAL, _numpy(np.radians)),
    Function("year", "year(time)", _DATE_PART, time_part(pc.year)),
    Function("quarter", "quarter(time)", _DATE_PART, time_part(pc.quarter)),
    Function("month", "month(time)", _DATE_PART, time_part(pc.month)),
    Function("week", "week(time)", _DATE_PART, time_part(pc.iso_week)),
    Function("day", "day(time)", _DATE_PART, time_part(pc.day)),
    Function(
        "dayofweek",
        "dayofweek(time)",
        _DATE_PART,
        time_part(lambda t: pc.day_of_week(t, count_from_zero=False, week_start=7)),
    ),
    Function("dayofyear", "dayofyear(time)", _DATE_PART, time_part(pc.day_of_year)),
    Function("hour", "hour(time)", _DATE_PART, time_part(pc.hour)),
    Function("minute", "minute(time)", _DATE_PART, time_part(pc.minute)),
    Function("second", "second(time)", _DATE_PART, time_part(pc.second)),
    Function("millisecond", "millisecond(time)", _DATE_PART, time_part(kernels.millisecond)),
    Function("microsecond", "microsecond(time)", _DATE_PART, time_part(kernels.microsecond)),
    Function(
        "date_trunc",
        "date_trunc('unit', time)",
        fixed((STRING, TIMESTAMP), TIMESTAMP),
        lambda unit, time: by_value(kernels.truncate_time)(time, unit),
    ),
    Function("last_day", "last_day(time)", fixed((TIMESTAMP,), DATE), kernels.last_day),
    Function("date_add", "date_add(time, days)", _days((DATE, INTEGER), DATE), kernels.add_days),
    Function(
        "datediff", "datediff(later, earlier)", _days((DATE, DATE), INTEGER), kernels.days_between
    ),
    Function(
        "to_date", "to_date(time)", fixed((TIMESTAMP,), DATE), lambda t: t.cast(DATE, safe=False)
    ),
    Function(
        "to_timestamp", "to_timestamp(seconds)", fixed((DOUBLE,), TIMESTAMP), kernels.from_epoch
    ),
    Function("epoch", "epoch(time)", fixed((TIMESTAMP,), DOUBLE), kernels.epoch),
    Function("unix_micros", "unix_micros(time)", _DATE_PART, lambda t: t.cast(INTEGER)),
)

FUNCTIONS = {function.name: function for function in _LIST}
CONSTANT_ARGUMENTS = {"date_trunc": (0,), "regexp_like": (1,), "regexp_replace": (1,)}
"""Arguments that must be the same for every row, and are checked before a run."""
