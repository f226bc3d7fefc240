"""Expressions on columns, by Arrow's compute kernels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra import cast_kernels, kernels
from millstream.algebra.expressions import Call, Case, Cast, Column, Expression, Literal
from millstream.algebra.functions import FUNCTIONS, Function
from millstream.algebra.kernels import piecewise, whole_array
from millstream.algebra.reading import from_text
from millstream.algebra.spellings import from_doubles, rounded
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    is_numeric,
)
from millstream.columns.keys import to_doubles

T = TypeVar("T")


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
        case Call():
            known = remembered(rows, expression, lambda: _called(expression, rows, length))
            return _called(expression, rows, length) if known is None else known
        case Cast(argument=argument, type=kind):
            return cast(evaluate(argument, rows, length), kind)
        case Case(branches=branches, default=default, type=kind):
            result = evaluate(default, rows, length)
            for condition, value in reversed(branches):
                holds = pc.fill_null(evaluate(condition, rows, length), False)
                result = pc.if_else(holds, evaluate(value, rows, length), result)
            return whole_array(result)
    raise TypeError(f"not an expression: {expression!r}")


@contextmanager
def computed_once() -> Iterator[None]:
    """Within it, equal calls of functions over the same rows are computed once.

    For many queries over one stream, whose conditions have parts in common.
    """
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def remembered(rows: pa.RecordBatch, what: Hashable, compute: Callable[[], T]) -> T | None:
    """What is to be computed of some rows, computed once; None where nothing is remembered."""
    known = _known.get()
    if known is None:
        return None
    key = id(rows), what
    if key not in known:
        known[key] = rows, compute()
    return known[key][1]


_known: ContextVar[dict[tuple[int, Hashable], tuple[pa.RecordBatch, Any]] | None] = ContextVar(
    "known", default=None
)
"""What was computed, with its rows: as long as they are here, nobody else has their id."""


def _called(call: Call, rows: pa.RecordBatch, length: int) -> pa.Array:
    values = [evaluate(argument, rows, length) for argument in call.arguments]
    result = _computed(FUNCTIONS[call.function], values)
    return result if result.type == call.type else cast(result, call.type)


def holds(condition: Expression, rows: pa.RecordBatch, length: int) -> np.ndarray:
    """Where the condition is true; neither false nor unknown."""
    result = pc.fill_null(evaluate(condition, rows, length), False)
    return result.to_numpy(zero_copy_only=False)


def castable(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether CAST leads from one type to the other at all.

    A number is not cast to a time or a length of time: its unit would be a guess.

    >>> castable(STRING, DATE), castable(BOOLEAN, DATE)
    (True, False)
    """
    if have == want or pa.types.is_null(have):
        return True
    number = is_numeric(want)
    match have:
        case _ if have == STRING:
            return want != INTERVAL
        case _ if have == BOOLEAN:
            return number or want == STRING
        case _ if is_numeric(have):
            return number or want in (STRING, BOOLEAN)
        case _ if have == TIMESTAMP:
            return want in (STRING, DATE, INTEGER)
        case _ if have == DATE:
            return want in (STRING, TIMESTAMP)
        case _ if have == INTERVAL:
            return want in (STRING, INTEGER)
    return False


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values as another type; NULL where that cannot be."""
    if values.type == kind:
        return values
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), kind)
    try:
        return whole_array(_cast(values, kind))
    except pa.ArrowInvalid:
        distinct = values.dictionary_encode()
        table = piecewise(lambda part: _cast(part, kind), [distinct.dictionary])
        return table.cast(kind).take(distinct.indices)


def _computed(function: Function, values: list[pa.Array]) -> pa.Array:
    """The function's result, NULL for the rows it cannot be computed for."""
    try:
        return whole_array(function.compute(*values))
    except pa.ArrowInvalid:
        return piecewise(function.compute, values)


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type == STRING:
        return from_text(values, kind).values
    if kind == STRING:
        return _spell(values)
    if kind == INTEGER and is_numeric(values.type):
        return kernels.whole(pc.trunc)(values)
    if kind == DATE and values.type == TIMESTAMP:
        return values.cast(DATE, safe=False)
    if pa.types.is_decimal(values.type) and kind == BOOLEAN:
        return values.cast(DOUBLE).cast(BOOLEAN)
    if pa.types.is_decimal(kind):
        return _cast_decimal(values, kind)
    return to_doubles(values) if kind == DOUBLE else values.cast(kind)


def _spell(values: pa.Array) -> pa.Array:
    if values.type == DOUBLE:
        return cast_kernels.spell_doubles(values)
    if values.type == TIMESTAMP:
        return cast_kernels.spell_times(values)
    if pa.types.is_decimal(values.type):
        return cast_kernels.spell_decimals(values)
    return cast_kernels.spell_intervals(values) if values.type == INTERVAL else values.cast(STRING)


def _cast_decimal(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type == BOOLEAN:
        values = values.cast(INTEGER)
    if pa.types.is_floating(values.type):
        return from_doubles(values, kind)
    if values.type == INTEGER:
        return cast_kernels.exact_decimals(values, kind)
    return rounded(values, kind)
