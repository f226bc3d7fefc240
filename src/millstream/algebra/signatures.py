"""Signatures: which types of arguments a function takes, and the type of its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

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


def arithmetic(types: Types) -> Signature | None:
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


def modulo(types: Types) -> Signature | None:
    if [*types] == [TIMESTAMP, INTEGER]:
        return (TIMESTAMP, INTEGER), INTEGER
    signature = arithmetic(types)
    return signature and (signature[0], signature[0][0])


def whole_division(types: Types) -> Signature | None:
    signature = arithmetic(types)
    return signature and (signature[0], INTEGER)


def _known(types: Types, beside: pa.DataType = INTERVAL) -> list[pa.DataType]:
    """The types, with a NULL beside a time or an interval read as what may stand there."""
    times = any(is_temporal(t) or t == INTERVAL for t in types)
    return [beside if times and pa.types.is_null(t) else t for t in types]


def plus(types: Types) -> Signature | None:
    match _known(types):
        case [left, right] if is_temporal(left) and right == INTERVAL:
            return (TIMESTAMP, INTERVAL), TIMESTAMP
        case [left, right] if left == INTERVAL and is_temporal(right):
            return (INTERVAL, TIMESTAMP), TIMESTAMP
        case [left, right] if left == INTERVAL and right == INTERVAL:
            return (INTERVAL, INTERVAL), INTERVAL
    return arithmetic(types)


def minus(types: Types) -> Signature | None:
    match _known(types):
        case [left, right] if is_temporal(left) and right == INTERVAL:
            return (TIMESTAMP, INTERVAL), TIMESTAMP
        case [left, right] if is_temporal(left) and is_temporal(right):
            return (TIMESTAMP, TIMESTAMP), INTERVAL
        case [left, right] if left == INTERVAL and right == INTERVAL:
            return (INTERVAL, INTERVAL), INTERVAL
    return arithmetic(types)


def times(types: Types) -> Signature | None:
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
    return arithmetic(types)


def equality(types: Types) -> Signature | None:
    if len(types) != 2:
        return None
    common = common_type(*types)
    if common is None:
        return None
    common = STRING if pa.types.is_null(common) else common
    return (common, common), BOOLEAN


def comparison(types: Types) -> Signature | None:
    signature = equality(types)
    return None if signature and pa.types.is_list(signature[0][0]) else signature


def alike(types: Types) -> Signature | None:
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


def ordered_alike(types: Types) -> Signature | None:
    signature = alike(types)
    return None if signature and pa.types.is_list(signature[1]) else signature


def two_alike(types: Types) -> Signature | None:
    return alike(types) if len(types) == 2 else None


def anything(types: Types) -> Signature | None:
    return (tuple(types), BOOLEAN) if len(types) == 1 else None


def hashing(types: Types) -> Signature | None:
    """Anything but a list, and a whole number beside it."""
    if not types or len(types) > 2 or pa.types.is_list(types[0]):
        return None
    if len(types) == 2 and types[1] != INTEGER:
        return None
    return tuple(types), INTEGER


def number(types: Types) -> Signature | None:
    """One number, and the same type back."""
    if len(types) != 1 or not (is_numeric(types[0]) or pa.types.is_null(types[0])):
        return None
    kind = INTEGER if pa.types.is_null(types[0]) else types[0]
    return (kind,), kind


def number_or_interval(types: Types) -> Signature | None:
    return ((INTERVAL,), INTERVAL) if list(types) == [INTERVAL] else number(types)


def rounding(types: Types) -> Signature | None:
    if len(types) == 2 and (types[1] == INTEGER or pa.types.is_null(types[1])):
        signature = number(types[:1])
        return signature and ((signature[0][0], INTEGER), signature[1])
    return number(types)


def seconds(types: Types) -> Signature | None:
    signature = number(types)
    return signature and (signature[0], TIMESTAMP)


def to_integer(types: Types) -> Signature | None:
    signature = number(types)
    return signature and (signature[0], INTEGER)


def days(arguments: Types, result: pa.DataType) -> Callable[[Types], Signature | None]:
    """A signature of whole days, which takes timestamps too."""
    sign = fixed(arguments, result)
    return lambda types: sign([DATE if kind == TIMESTAMP else kind for kind in types])


def fixed2(arguments: pa.DataType, result: pa.DataType) -> Callable[[Types], Signature | None]:
    return fixed((arguments, arguments), result)
