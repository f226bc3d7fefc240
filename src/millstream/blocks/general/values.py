"""Values as closures see them, and the way from Arrow and back.

Integers, doubles, texts, booleans and decimals are Python's own; instants, days and intervals are
integers in their unit; an array is a tuple. NULL is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millstream.algebra.types import DATE, DOUBLE, INTEGER, INTERVAL, TIMESTAMP

Row = tuple[Any, ...]
Key = Callable[[Any], Any]

LEAST, GREATEST = -(2**63), 2**63 - 1
NAN = float("nan")


def from_arrow(values: pa.Array) -> list[Any]:
    """A column as a list of values.

    >>> from_arrow(pa.array([1_000_000, None], TIMESTAMP))
    [1000000, None]
    """
    kind = values.type
    if kind in (TIMESTAMP, INTERVAL):
        return values.cast(INTEGER).to_pylist()
    if kind == DATE:
        return values.cast(pa.int32()).to_pylist()
    if pa.types.is_list(kind):
        elements, offsets = from_arrow(values.values), values.offsets.to_pylist()
        spans = zip(values.is_valid().to_pylist(), offsets, offsets[1:])
        return [tuple(elements[a:b]) if valid else None for valid, a, b in spans]
    return values.to_pylist()


def to_arrow(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column of a type from a list of values."""
    if kind in (TIMESTAMP, INTERVAL):
        return pa.array(values, INTEGER).cast(kind)
    if kind == DATE:
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_list(kind):
        return _lists(values, kind)
    return pa.array(values, kind)


def _lists(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    offsets: list[int] = [0]
    elements: list[Any] = []
    for value in values:
        elements.extend(value or ())
        offsets.append(len(elements))
    inside = to_arrow(elements, kind.value_type)
    mask = pa.array([value is None for value in values], pa.bool_())
    whole = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inside, mask=mask)
    return whole.cast(kind)


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a batch."""
    if batch.num_columns == 0:
        return [()] * batch.num_rows
    return list(zip(*map(from_arrow, batch.columns)))


def batch_of(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """A batch from rows."""
    columns = list(zip(*rows)) if rows else [()] * len(schema)
    arrays = [to_arrow(values, field.type) for values, field in zip(columns, schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def literal(value: Any, kind: pa.DataType) -> Any:
    """The value of a literal."""
    return from_arrow(pa.array([value], kind))[0]


def key_of(kind: pa.DataType) -> Key | None:
    """What makes equal rows of GROUP BY equal in Python, where values alone do not: all NaNs are
    one. None where nothing is to be done."""
    if kind == DOUBLE:
        return lambda value: NAN if value != value else value
    if pa.types.is_list(kind) and (inside := key_of(kind.value_type)) is not None:
        one = inside
        return lambda value: None if value is None else tuple(one(v) for v in value)
    return None


def row_key(kinds: Sequence[pa.DataType]) -> Callable[[Row], Row]:
    """The same for rows."""
    keys = [(i, key) for i, kind in enumerate(kinds) if (key := key_of(kind)) is not None]
    if not keys:
        return lambda row: row

    def made(row: Row) -> Row:
        values = list(row)
        for i, key in keys:
            values[i] = key(values[i])
        return tuple(values)

    return made
