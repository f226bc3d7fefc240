"""The types of values: SQL's names for the Arrow types that hold them."""

from __future__ import annotations

import re

import pyarrow as pa

INTEGER = pa.int64()
DOUBLE = pa.float64()
STRING = pa.string()
BOOLEAN = pa.bool_()
TIMESTAMP = pa.timestamp("us")
DATE = pa.date32()
INTERVAL = pa.duration("us")
NULL = pa.null()

_NAMES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "integer", "bigint", "long"), INTEGER),
    **dict.fromkeys(("real", "float", "double", "double precision"), DOUBLE),
    **dict.fromkeys(("char", "varchar", "string", "text"), STRING),
    **dict.fromkeys(("boolean", "bool"), BOOLEAN),
    **dict.fromkeys(("timestamp", "datetime"), TIMESTAMP),
    "date": DATE,
    "interval": INTERVAL,
}


def type_from_text(text: str) -> pa.DataType | None:
    """The type that SQL text names, or None.

    >>> type_from_text("varchar(20)"), type_from_text("decimal(10, 2)")
    (DataType(string), Decimal128Type(decimal128(10, 2)))
    """
    match = re.fullmatch(
        r"([a-z ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?", text.strip().lower()
    )
    if match is None:
        return None
    name, first, second = match.groups()
    if name in ("decimal", "numeric", "dec"):
        precision, scale = int(first or 10), int(second or 0)
        return pa.decimal128(precision, scale) if scale <= precision <= 38 else None
    return _NAMES.get(name)


def type_name(kind: pa.DataType) -> str:
    """SQL's name for a type.

    >>> type_name(pa.float64()), type_name(pa.list_(pa.string()))
    ('double', 'array<string>')
    """
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_list(kind):
        return f"array<{type_name(kind.value_type)}>"
    for name in ("bigint", "double", "string", "boolean", "timestamp", "date", "interval"):
        if _NAMES[name] == kind:
            return name
    return "null" if pa.types.is_null(kind) else str(kind)


def is_numeric(kind: pa.DataType) -> bool:
    return kind in (INTEGER, DOUBLE) or pa.types.is_decimal(kind)


def is_temporal(kind: pa.DataType) -> bool:
    return kind in (TIMESTAMP, DATE)


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type both can be read as without losing anything a comparison needs, or None.

    >>> type_name(common_type(INTEGER, DOUBLE))
    'double'
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if is_numeric(left) and is_numeric(right):
        return _common_number(left, right)
    if is_temporal(left) and is_temporal(right):
        return TIMESTAMP
    return None


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if DOUBLE in (left, right):
        return DOUBLE
    (p1, s1), (p2, s2) = _decimal_shape(left), _decimal_shape(right)
    scale = max(s1, s2)
    return pa.decimal128(min(38, max(p1 - s1, p2 - s2) + scale), scale)


def _decimal_shape(kind: pa.DataType) -> tuple[int, int]:
    return (kind.precision, kind.scale) if pa.types.is_decimal(kind) else (19, 0)
