"""The scalar functions: for each its argument types, its result type, and how Arrow computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra import kernels, text_kernels
from millstream.algebra.kernels import by_value, inside, mapped, time_part
from millstream.algebra.signatures import (
    Signature,
    Types,
    alike,
    anything,
    comparison,
    days,
    equality,
    fixed,
    fixed2,
    hashing,
    minus,
    modulo,
    number,
    number_or_interval,
    ordered_alike,
    plus,
    rounding,
    seconds,
    times,
    to_integer,
    two_alike,
    whole_division,
)
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
)


@dataclass(frozen=True)
class Function:
    """A scalar function: `sign` answers None when it does not take arguments of these types."""

    name: str
    usage: str
    sign: Callable[[Types], Signature | None]
    compute: Callable[..., Any]


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
    Function("is_null", "a IS NULL", anything, pc.is_null),
    Function("distinct_from", "a IS DISTINCT FROM b", equality, kernels.distinct_from),
    Function("=", "a = b", equality, kernels.equal),
    Function("<>", "a <> b", equality, kernels.not_equal),
    Function("<", "a < b", comparison, pc.less),
    Function("<=", "a <= b", comparison, pc.less_equal),
    Function(">", "a > b", comparison, pc.greater),
    Function(">=", "a >= b", comparison, pc.greater_equal),
    Function("+", "a + b", plus, kernels.add),
    Function("-", "a - b", minus, kernels.subtract),
    Function("*", "a * b", times, kernels.multiply),
    Function("/", "a / b", fixed2(DOUBLE, DOUBLE), kernels.exact_division),
    Function("div", "a div b", whole_division, kernels.whole_division),
    Function("%", "a % b", modulo, kernels.modulo),
    Function("neg", "-a", number_or_interval, pc.negate_checked),
    Function("like", "a LIKE pattern", _TEST, by_value(pc.match_like)),
    Function(
        "regexp_like", "regexp_like(text, pattern)", _TEST, by_value(pc.match_substring_regex)
    ),
    Function("coalesce", "coalesce(a, b, …)", alike, _first_known),
    Function("nullif", "nullif(a, b)", two_alike, kernels.nullif),
    Function("greatest", "greatest(a, b, …)", ordered_alike, kernels.largest),
    Function("least", "least(a, b, …)", ordered_alike, kernels.smallest),
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
        fixed2(STRING, INTEGER),
        lambda part, text: by_value(text_kernels.position)(text, part),
    ),
    Function("starts_with", "startswith(text, part)", _TEST, by_value(pc.starts_with)),
    Function("ends_with", "endswith(text, part)", _TEST, by_value(pc.ends_with)),
    Function("contains", "contains(text, part)", _TEST, by_value(pc.match_substring)),
    Function("hash", "hash(value[, seed])", hashing, kernels.hashed),
    Function("abs", "abs(number)", number, pc.abs_checked),
    Function("sign", "sign(number)", to_integer, lambda x: pc.sign(x).cast(INTEGER)),
    Function("round", "round(number[, digits])", rounding, by_value(kernels.round_half_up)),
    Function("floor", "floor(number)", to_integer, kernels.whole(pc.floor)),
    Function("ceil", "ceil(number)", to_integer, kernels.whole(pc.ceil)),
    Function("trunc", "trunc(number)", to_integer, kernels.whole(pc.trunc)),
    Function("sqrt", "sqrt(number)", _REAL, inside(pc.sqrt, 0.0)),
    Function("cbrt", "cbrt(number)", _REAL, _numpy(np.cbrt)),
    Function("exp", "exp(number)", _REAL, pc.exp),
    Function("ln", "ln(number)", _REAL, inside(pc.ln, _LEAST)),
    Function("log10", "log10(number)", _REAL, inside(pc.log10, _LEAST)),
    Function("log2", "log2(number)", _REAL, inside(pc.log2, _LEAST)),
    Function("power", "power(base, exponent)", fixed2(DOUBLE, DOUBLE), kernels.power),
    Function("sin", "sin(number)", _REAL, pc.sin),
    Function("cos", "cos(number)", _REAL, pc.cos),
    Function("tan", "tan(number)", _REAL, pc.tan),
    Function("asin", "asin(number)", _REAL, inside(pc.asin, -1.0, 1.0)),
    Function("acos", "acos(number)", _REAL, inside(pc.acos, -1.0, 1.0)),
    Function("atan", "atan(number)", _REAL, pc.atan),
    Function("atan2", "atan2(y, x)", fixed2(DOUBLE, DOUBLE), pc.atan2),
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
    Function("date_add", "date_add(time, days)", days((DATE, INTEGER), DATE), kernels.add_days),
    Function(
        "datediff", "datediff(later, earlier)", days((DATE, DATE), INTEGER), kernels.days_between
    ),
    Function(
        "to_date", "to_date(time)", fixed((TIMESTAMP,), DATE), lambda t: t.cast(DATE, safe=False)
    ),
    Function("to_timestamp", "to_timestamp(seconds)", seconds, kernels.from_epoch),
    Function("timestamp_seconds", "timestamp_seconds(number)", seconds, kernels.from_epoch),
    Function(
        "timestamp_millis",
        "timestamp_millis(number)",
        fixed((INTEGER,), TIMESTAMP),
        kernels.from_millis,
    ),
    Function(
        "timestamp_micros",
        "timestamp_micros(number)",
        fixed((INTEGER,), TIMESTAMP),
        lambda n: n.cast(TIMESTAMP),
    ),
    Function("epoch", "epoch(time)", fixed((TIMESTAMP,), DOUBLE), kernels.epoch),
    Function(
        "unix_seconds", "unix_seconds(time)", _DATE_PART, kernels.since_epoch("second", 1_000_000)
    ),
    Function(
        "unix_millis", "unix_millis(time)", _DATE_PART, kernels.since_epoch("millisecond", 1_000)
    ),
    Function("unix_micros", "unix_micros(time)", _DATE_PART, lambda t: t.cast(INTEGER)),
    Function(
        "to_utc_timestamp",
        "to_utc_timestamp(local, zone)",
        fixed((TIMESTAMP, STRING), TIMESTAMP),
        by_value(kernels.to_utc),
    ),
    Function(
        "from_utc_timestamp",
        "from_utc_timestamp(time, zone)",
        fixed((TIMESTAMP, STRING), TIMESTAMP),
        by_value(kernels.from_utc),
    ),
)

FUNCTIONS = {function.name: function for function in _LIST}
CONSTANT_ARGUMENTS = {"date_trunc": (0,), "regexp_like": (1,), "regexp_replace": (1,)}
"""Arguments that must be the same for every row, and are checked before a run."""
