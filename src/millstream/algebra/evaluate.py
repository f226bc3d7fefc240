"""Expressions on columns, by Arrow's compute kernels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.expressions import Call, Case, Cast, Column, Expression, Literal
from millstream.algebra.functions import FUNCTIONS
from millstream.algebra.types import DATE, INTEGER, STRING, TIMESTAMP, is_numeric


def evaluate(expression: Expression, rows: pa.RecordBatch, length: int) -> pa.Array:
    """The value of the expression for every row.

    >>> rows = pa.record_batch({"price": pa.array([1.5, None])})
    >>> from millstream.algebra.types import DOUBLE
    >>> doubled = Call("*", (Column("price", DOUBLE), Literal(2.0, DOUBLE)), DOUBLE)
    >>> evaluate(doubled, rows, 2).to_pylist()
    [3.0, None]
    """
    match expression:
        case Column(name=name):
            return rows.column(rows.schema.get_field_index(name))
        case Literal(value=value, type=kind):
            return pa.repeat(pa.scalar(value, kind), length)
        case Call(function=function, arguments=arguments, type=kind):
            values = [evaluate(a, rows, length) for a in arguments]
            result = FUNCTIONS[function].compute(*values)
            return _array(result if result.type == kind else _fit(result, kind))
        case Cast(argument=argument, type=kind):
            return cast(evaluate(argument, rows, length), kind)
        case Case(branches=branches, default=default, type=kind):
            result = evaluate(default, rows, length)
            for condition, value in reversed(branches):
                holds = pc.fill_null(evaluate(condition, rows, length), False)
                result = pc.if_else(holds, evaluate(value, rows, length), result)
            return _array(result)
    raise TypeError(f"not an expression: {expression!r}")


def holds(condition: Expression, rows: pa.RecordBatch, length: int) -> np.ndarray:
    """Where the condition is true; neither false nor unknown."""
    result = pc.fill_null(evaluate(condition, rows, length), False)
    return result.to_numpy(zero_copy_only=False)


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values as another type; NULL where that cannot be."""
    if values.type == kind:
        return values
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), kind)
    try:
        return _cast(values, kind)
    except pa.ArrowInvalid:
        return _cast_one_by_one(values, kind)


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type == STRING and kind != STRING:
        values = pc.utf8_trim_whitespace(values)
    if kind == INTEGER and pa.types.is_floating(values.type):
        inside = pc.and_(pc.less(pc.abs(values), 9.2e18), pc.is_finite(values))
        values = pc.if_else(inside, values, pa.scalar(None, values.type))
        return pc.trunc(values).cast(INTEGER, safe=False)
    if kind == INTEGER and pa.types.is_decimal(values.type):
        return pc.trunc(values).cast(pa.decimal128(38, 0), safe=False).cast(INTEGER)
    if kind == DATE and values.type == TIMESTAMP:
        return values.cast(DATE, safe=False)
    if pa.types.is_decimal(kind) and is_numeric(values.type):
        return _cast_decimal(values, kind)
    if kind == STRING and values.type == TIMESTAMP:
        return pc.strftime(values, format="%Y-%m-%d %H:%M:%S")
    return values.cast(kind)


def _cast_decimal(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_floating(values.type):
        return pc.round(values, ndigits=kind.scale).cast(kind, safe=False)
    if pa.types.is_decimal(values.type) and values.type.scale > kind.scale:
        values = pc.round(values, ndigits=kind.scale, round_mode="half_towards_infinity")
    return values.cast(kind, safe=False)


def _cast_one_by_one(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The slow way, for columns in which some value cannot be cast."""
    distinct = values.dictionary_encode()
    out = []
    for i in range(len(distinct.dictionary)):
        try:
            out.append(_cast(distinct.dictionary.slice(i, 1), kind))
        except pa.ArrowInvalid:
            out.append(pa.nulls(1, kind))
    table = pa.concat_arrays(out) if out else pa.nulls(0, kind)
    return table.take(distinct.indices)


def _fit(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return cast(_array(values), kind)


def _array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
