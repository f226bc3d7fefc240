"""Spark's DataFrames as streams and tables: their columns, their order, their lengths of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.algebra.changes import no_rows
from millstream.algebra.lengths import UNITS
from millstream.algebra.time import Domain
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    type_name,
)
from millstream.bind.relations.windows import length_in
from millstream.bind.tables.declared import static_table
from millstream.catalog import CURRENT_TIME, Fields, Stream, Table
from millstream.errors import MillstreamError
from millstream.lang import interval_from_text
from millstream.lang.interval import unit_named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Length = int | str | None


def stream_of(
    name: str,
    frame: DataFrame,
    order_by: str | None,
    slack: int | str,
    ahead: Length,
    idle: Length,
    silence: str | None = None,
) -> Stream:
    """The stream that a DataFrame gives."""
    columns = _columns(name, frame, "stream")
    order_by, unit = _order(order_by, columns)
    if order_by not in (None, CURRENT_TIME):
        _check_order(columns, str(order_by), name)
    if unit is not None and dict(columns).get(str(order_by)) != INTEGER:
        raise MillstreamError(
            f'"{order_by}" takes no unit: it is not an integer column',
            hint=f'Write order_by="{order_by}".',
        )
    bare = Stream(name, columns, order_by, foreign=True, unit=unit)
    return replace(_timed(bare, slack, ahead, idle), by_clock=_by_clock(bare, idle, silence))


def table_of(
    name: str,
    frame: DataFrame,
    key: Sequence[str],
    non_retroactive: bool,
    slack: int | str,
    idle: Length,
) -> Table:
    """The table whose modifications a DataFrame gives, in the columns `op` and `ts`."""
    columns = _columns(name, frame, "table")
    for wanted in ("op", "ts", *key):
        if wanted not in dict(columns):
            raise MillstreamError(f'column "{wanted}" does not exist in the DataFrame for "{name}"')
    _check_order(columns, "ts", name)
    bare = Stream(name, columns, "ts", foreign=True, op="op", keyed=bool(key))
    data = tuple(column for column in columns if column[0] not in ("op", "ts"))
    content = static_table(name, no_rows(pa.schema(list(data))))
    return Table(name, data, tuple(key), content, non_retroactive, _timed(bare, slack, None, idle))


def _columns(name: str, frame: DataFrame, kind: str) -> Fields:
    """The columns of a DataFrame, if it is one that streams."""
    if not frame.isStreaming:
        raise MillstreamError(
            f'the DataFrame for {kind} "{name}" is not a streaming one',
            hint="Make it with spark.readStream.",
        )
    return tuple((f.name, _arrow_type(f, name)) for f in frame.schema.fields)


def _order(order_by: str | None, columns: Fields) -> tuple[str | None, str | None]:
    """The column of `order_by`, and the unit after it, as in "t seconds"."""
    if order_by is None or order_by in dict(columns):
        return order_by, None
    column, _, word = order_by.rpartition(" ")
    unit = unit_named(word) if column else None
    return (column.strip(), unit) if unit in UNITS else (order_by, None)


def _check_order(columns: Fields, order_by: str, name: str) -> None:
    if order_by not in dict(columns):
        raise MillstreamError(f'column "{order_by}" does not exist in the DataFrame for "{name}"')
    kind = dict(columns)[order_by]
    if kind not in (TIMESTAMP, INTEGER):
        raise MillstreamError(
            f'a stream cannot be ordered by "{order_by}", a {type_name(kind)}',
            hint="Order by a timestamp or an integer.",
        )


def _by_clock(bare: Stream, idle: Length, silence: str | None) -> bool:
    """Whether time goes on by the clock when all are silent."""
    if silence is None:
        return False
    if silence != "clock" or idle is None or bare.domain is not Domain.TIMESTAMP:
        raise MillstreamError(
            f'stream "{bare.name}" cannot have the silence "{silence}"',
            hint='Write idle="10 seconds", silence="clock", for a stream in timestamps.',
        )
    return True


def _timed(bare: Stream, slack: int | str, ahead: Length, idle: Length) -> Stream:
    """A stream with its lengths of time."""
    return replace(
        bare,
        slack=_length(slack, bare.domain, bare.name) or 0,
        ahead=_length(ahead, bare.domain, bare.name),
        idle=_length(idle, Domain.TIMESTAMP, bare.name),
    )


def _length(value: Length, domain: Domain, name: str) -> int | None:
    if value is None or isinstance(value, int):
        return value
    return length_in(interval_from_text(value), domain, name, None)


def _arrow_type(field: Any, stream: str) -> pa.DataType:
    name = field.dataType.simpleString()
    if name.startswith("decimal"):
        return pa.decimal128(field.dataType.precision, field.dataType.scale)
    if name.startswith("interval") and "month" not in name and "year" not in name:
        return INTERVAL
    kinds = {
        **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), INTEGER),
        **dict.fromkeys(("float", "double"), DOUBLE),
        **dict.fromkeys(("timestamp", "timestamp_ntz"), TIMESTAMP),
        "string": STRING,
        "boolean": BOOLEAN,
        "date": DATE,
    }
    if name not in kinds:
        raise MillstreamError(
            f'column "{field.name}" of stream "{stream}" has the type {name}',
            hint=f"Select to_json({field.name}) for its JSON text, or a field of it."
            if name.startswith(("array", "struct", "map"))
            else "Select or cast it to a type Millstream has.",
        )
    return kinds[name]
