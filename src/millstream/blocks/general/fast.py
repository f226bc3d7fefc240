"""Scalar functions in Python, where that gives what the Arrow kernels give.

A `Fast` takes values that are not NULL; None where the kernel gives NULL. Whatever is not here, or
answers `Slow` for some values, is computed by the kernel itself.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import Context
from typing import Any

import pyarrow as pa

from millstream.algebra.types import BOOLEAN, DOUBLE, INTEGER, INTERVAL, STRING, TIMESTAMP
from millstream.blocks.general.values import GREATEST, LEAST

Fast = Callable[..., Any]
WHOLE = (INTEGER, INTERVAL, TIMESTAMP)
EXACT = Context(prec=100)
"""Room for every digit of sums and products of decimals."""


class Slow(Exception):
    """The kernel must say what comes of these values."""


def fast(name: str, kinds: Sequence[pa.DataType], result: pa.DataType) -> Fast | None:
    """The function for arguments of these types; None if there is none."""
    if name in _COMPARISONS:
        return None if pa.types.is_list(kinds[0]) else _COMPARISONS[name]
    if pa.types.is_decimal(result):
        return _DECIMAL.get(name) if result.precision < 38 else None
    if name == "%" and kinds[0] == TIMESTAMP:
        return lambda time, n: _modulo(time // 1_000_000, n)
    if result in WHOLE and all(kind in WHOLE for kind in kinds):
        return _of_whole(name, len(kinds))
    if all(kind == DOUBLE for kind in kinds):
        return _DOUBLE.get(name)
    return _OTHER.get(name)


def _of_whole(name: str, count: int) -> Fast | None:
    if name == "round" and count == 2:
        return _round_whole
    return _WHOLE.get(name)


def _inside(value: int) -> int | None:
    return value if LEAST <= value <= GREATEST else None


def _add(a: int, b: int) -> int | None:
    c = a + b
    return c if LEAST <= c <= GREATEST else None


def _subtract(a: int, b: int) -> int | None:
    c = a - b
    return c if LEAST <= c <= GREATEST else None


def _multiply(a: int, b: int) -> int | None:
    c = a * b
    return c if LEAST <= c <= GREATEST else None


def _whole_division(a: int, b: int) -> int | None:
    if b == 0:
        return None
    quotient = abs(a) // abs(b)
    return _inside(quotient if (a < 0) == (b < 0) else -quotient)


def _modulo(a: int, b: int) -> int | None:
    if b == 0:
        return None
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _round_whole(a: int, digits: int) -> int:
    if digits >= 0:
        return a
    raise Slow


def _divide(a: float, b: float) -> float | None:
    return a / b if b else None


def _double_modulo(a: float, b: float) -> float | None:
    if b == 0:
        return None
    return math.nan if math.isinf(a) else math.fmod(a, b)


def _whole_of(round_one: Callable[[float], int]) -> Fast:
    def run(x: float) -> int | None:
        if not -9.3e18 < x < 9.3e18:
            return None
        return _inside(round_one(x))

    return run


def _round(x: float) -> float:
    if not abs(x) < 2.0**53:
        return x
    whole = math.trunc(x)
    if abs(x - whole) >= 0.5:
        whole += 1 if x > 0 else -1
    return math.copysign(float(whole), x)


def _sign(x: float) -> int | None:
    if x != x:
        raise Slow
    return (x > 0) - (x < 0)


def _root(x: float) -> float | None:
    return math.sqrt(x) if x >= 0 else None


def _upper(text: str) -> str:
    if text.isascii():
        return text.upper()
    raise Slow


def _lower(text: str) -> str:
    if text.isascii():
        return text.lower()
    raise Slow


def _substring(text: str, start: int, length: int | None = None) -> str:
    if start < 0:
        raise Slow
    first = max(start - 1, 0)
    return text[first:] if length is None else text[first : first + max(length, 0)]


def _concat(*texts: str) -> str:
    return "".join(texts)


def _trim(text: str, characters: str = " ") -> str:
    if not characters:
        raise Slow
    return text.strip(characters)


_COMPARISONS: dict[str, Fast] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_DECIMAL: dict[str, Fast] = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}
_WHOLE: dict[str, Fast] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "div": _whole_division,
    "%": _modulo,
    "neg": lambda a: _inside(-a),
    "abs": lambda a: _inside(abs(a)),
    "sign": lambda a: (a > 0) - (a < 0),
    "round": lambda a: a,
    "floor": lambda a: a,
    "ceil": lambda a: a,
    "trunc": lambda a: a,
}
_DOUBLE: dict[str, Fast] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _double_modulo,
    "neg": operator.neg,
    "abs": abs,
    "sign": _sign,
    "sqrt": _root,
    "round": _round,
    "floor": _whole_of(math.floor),
    "ceil": _whole_of(math.ceil),
    "trunc": _whole_of(math.trunc),
}
_OTHER: dict[str, Fast] = {
    "not": operator.not_,
    "length": len,
    "upper": _upper,
    "lower": _lower,
    "concat": _concat,
    "substring": _substring,
    "left": lambda text, count: text[: max(count, 0)],
    "right": lambda text, count: text[-count:] if count > 0 else "",
    "replace": lambda text, old, new: text.replace(old, new) if old else text,
    "reverse": lambda text: text[::-1],
    "trim": _trim,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda text, part: part in text,
}


def fast_cast(have: pa.DataType, want: pa.DataType) -> Fast | None:
    """How a value is read as another type; None if only the kernel knows."""
    return (lambda value: value) if have == want else _CASTS.get((have, want))


def _day_start(day: int) -> int:
    if abs(day) > 100_000_000:
        raise Slow
    return day * 86_400_000_000


_CASTS: dict[tuple[pa.DataType, pa.DataType], Fast] = {
    (INTEGER, DOUBLE): float,
    (INTEGER, BOOLEAN): bool,
    (INTEGER, STRING): str,
    (INTEGER, INTERVAL): lambda value: value,
    (INTERVAL, INTEGER): lambda value: value,
    (TIMESTAMP, INTEGER): lambda value: value,
    (BOOLEAN, INTEGER): int,
    (BOOLEAN, DOUBLE): float,
    (DOUBLE, INTEGER): _whole_of(math.trunc),
    (DOUBLE, BOOLEAN): bool,
    (pa.date32(), TIMESTAMP): _day_start,
}
