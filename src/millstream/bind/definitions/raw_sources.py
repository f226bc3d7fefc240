"""REGISTER SOURCE: a raw stream, whose elements may be modifications already."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.types import STRING
from millstream.bind.definitions.clauses import option_place, options_of
from millstream.bind.definitions.streams import bind_stream
from millstream.catalog import CURRENT_TIME, Stream
from millstream.connect.options import OF_RAW
from millstream.connect.registry import through_spark
from millstream.errors import MillstreamError
from millstream.lang import ColumnDef, RegisterSource

OP, TIME = "op", "ts_ms"
BEFORE, AFTER = "before.", "after."
"""Change records have a row as it was before and after, what was done, and when."""


def bind_source(statement: RegisterSource, base: str) -> Stream:
    """A raw stream; of a feed of changes, the column that says what each of them does is known."""
    if statement.port is not None:
        raise MillstreamError(
            f'source "{statement.name}" reads {statement.port}, and ports are not supported yet',
            statement.source_place,
            detail="Sources are CSV, JSON lines and Parquet files, and folders of them.",
            hint="Write FROM 'file.csv' with --follow for one that grows, or give Python "
            f"{through_spark(statement.name, statement.order_by)}.",
        )
    changes = dict(options_of(statement)).get("changes")
    if changes is not None:
        return _records(statement, changes, base)
    stream = bind_stream(statement, base)
    for name, kind in stream.columns:
        if name.lower() == OP and kind == STRING:
            return replace(stream, raw_op=name)
    return stream


def _records(statement: RegisterSource, changes: str, base: str) -> Stream:
    """A stream of change records: every column twice, as it was before and as it is after."""
    try:
        OF_RAW.read({"changes": changes})
    except MillstreamError as error:
        raise error.at(option_place(statement, "changes")) from None
    if statement.order_by not in (None, TIME, CURRENT_TIME):
        raise MillstreamError(
            f'change records cannot be ordered by column "{statement.order_by}"',
            statement.order_place,
            hint=f"Leave it out: they are ordered by {TIME}, or by current_time.",
        )
    place = statement.name_place
    columns = [ColumnDef(name=OP, type="string", place=place)]
    columns += [ColumnDef(name=TIME, type="bigint", place=place)]
    for side in (AFTER, BEFORE):
        columns += [replace(column, name=side + column.name) for column in statement.columns]
    by_clock = statement.order_by == CURRENT_TIME
    whole = replace(
        statement,
        columns=tuple(columns),
        order_by=CURRENT_TIME if by_clock else TIME,
        order_unit=None if by_clock else "millisecond",
        options=tuple(o for o in statement.options if o[0].lower() != "changes"),
    )
    names = tuple(column.name for column in statement.columns)
    return replace(bind_stream(whole, base), raw_op=OP, changed=names)
