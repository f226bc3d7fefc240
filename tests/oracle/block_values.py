"""Values in the oracle of routines: functions, casts, aggregates, order. NULL is None."""

from __future__ import annotations

import datetime as dt
import functools
import math
from typing import Any

import pyarrow as pa

MICROSECOND = dt.timedelta(microseconds=1)


def internal(value: Any) -> Any:
    """Instants, days and intervals as integers."""
    match value:
        case dt.datetime():
            return (value - dt.datetime(1970, 1, 1)) // MICROSECOND
        case dt.date():
            return (value - dt.date(1970, 1, 1)).days
        case dt.timedelta():
            return value // MICROSECOND
    return value


def compared(operator: str, a: Any, b: Any) -> bool | None:
    if a is None or b is None:
        return None
    less, equal = a < b, a == b
    return {
        "=": equal,
        "<>": not equal,
        "<": less,
        "<=": less or equal,
        ">": not less and not equal and a > b,
        ">=": a >= b,
    }[operator]


def computed(name: str, kind: pa.DataType, values: list[Any]) -> Any:
    """A function of values, with what SQL says of NULL."""
    match name:
        case "and":
            return False if False in values else None if None in values else True
        case "or":
            return True if True in values else None if None in values else False
        case "is_null":
            return values[0] is None
        case "coalesce":
            return next((v for v in values if v is not None), None)
        case "distinct_from":
            a, b = values
            return (a is None) != (b is None) if None in values else a != b
        case "least" | "greatest":
            known = [v for v in values if v is not None]
            return (min if name == "least" else max)(known) if known else None
    if None in values:
        return None
    if name in ("=", "<>", "<", "<=", ">", ">="):
        return compared(name, *values)
    result = _STRICT[name](*values)
    too_large = pa.types.is_int64(kind) and result is not None and not -(2**63) <= result < 2**63
    return None if too_large else result


def _remainder(a: Any, b: Any) -> Any:
    if b == 0:
        return None
    return math.fmod(a, b) if isinstance(a, float) else a - b * int(_quotient(a, b))


def _quotient(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a >= 0) == (b > 0) else -1)


_STRICT = {
    "not": lambda a: not a,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else None,
    "div": _quotient,
    "%": _remainder,
    "neg": lambda a: -a,
    "abs": abs,
    "concat": lambda *texts: "".join(texts),
    "left": lambda text, count: text[: max(count, 0)],
    "length": len,
}


def converted(value: Any, kind: pa.DataType) -> Any:
    """A cast, of the kinds that are generated."""
    if value is None:
        return None
    if kind == pa.float64():
        return float(value)
    if kind == pa.int64():
        return int(value)
    assert kind == pa.string() and isinstance(value, int)
    return str(value)


def aggregated(name: str, rows: list[tuple[Any, ...]], parameter: Any) -> Any:
    """A built-in aggregate over the rows of arguments of a group."""
    if not rows or not rows[0]:
        return len(rows) if name == "count" else None
    if name in ("first", "last"):
        return rows[0 if name == "first" else -1][0]
    values = [row[0] for row in rows if row[0] is not None]
    if name.startswith("count"):
        return len(values)
    if not values:
        return None
    match name:
        case "min" | "max":
            return (min if name == "min" else max)(values)
        case "sum":
            total = _total(values)
            return None if isinstance(total, int) and not -(2**63) <= total < 2**63 else total
        case "avg":
            return _total(values) / len(values)
        case "string_agg":
            return parameter.join(values)
    raise AssertionError(name)


def _total(values: list[Any]) -> Any:
    if isinstance(values[0], int):
        return sum(values)
    odd = [v for v in values if not math.isfinite(v)]
    return sum(odd) if odd else math.fsum(values) + 0.0


def sorted_rows(made: list[tuple[Any, list[Any]]], by: list[tuple[bool, bool]]) -> list[Any]:
    """Pairs of a row and what it is ordered by; equal ones stay as they are."""

    def compare(left: tuple[Any, list[Any]], right: tuple[Any, list[Any]]) -> int:
        for a, b, (descending, nulls_first) in zip(left[1], right[1], by):
            if (a is None) != (b is None):
                return -1 if (a is None) == nulls_first else 1
            if a is not None and a != b:
                return -1 if (a < b) != descending else 1
        return 0

    return sorted(made, key=functools.cmp_to_key(compare))
