"""CREATE TABLE: the rows a table begins with, and the stream of its modifications."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import no_rows
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, NULL, STRING, TIMESTAMP, type_name
from millstream.bind.definitions.clauses import (
    STREAM_OPTIONS,
    called,
    declared_columns,
    length_option,
    of_elsewhere,
    option_place,
    options_of,
    silence_option,
    source_fault,
)
from millstream.bind.names.words import check_result_name
from millstream.bind.relations.windows import length_in
from millstream.catalog import CURRENT_TIME, STATEMENTS, Fields, Stream, Table
from millstream.columns.keys import factorize
from millstream.connect.options import OF_TABLES
from millstream.errors import MillstreamError, closest
from millstream.lang import CreateTable
from millstream.operators import StaticTable

TIMES: dict[str, pa.DataType | None] = {
    "integer": INTEGER,
    "timestamp": TIMESTAMP,
    CURRENT_TIME: None,
    "seconds": INTEGER,
    "milliseconds": INTEGER,
    "microseconds": INTEGER,
}
"""What the times of a table's changes can be; None is the clock's. Integers may count a unit."""

COUNTED = {"seconds": "second", "milliseconds": "millisecond", "microseconds": "microsecond"}


class Reader(Protocol):
    """Reads the first rows of tables."""

    def load(
        self, url: str, name: str, schema: pa.Schema, options: Mapping[str, str]
    ) -> pa.RecordBatch:
        """All rows of a source."""

    def time_of_changes(self, url: str, options: Mapping[str, str]) -> pa.DataType | None:
        """None unless the source holds changes; then the type of their times, NULL if none is
        there."""

    def can_be_read_again(self, url: str) -> bool:
        """Whether the source is a database, which may have changed in the meantime."""


def bind_table(statement: CreateTable, reader: Reader, base: str) -> Table:
    """A declared table, with the rows that it begins with."""
    check_result_name(statement.name, "table", statement.name_place)
    columns = declared_columns(statement.columns)
    key = _key(statement, columns)
    options = options_of(statement)
    bare = Table(
        statement.name,
        columns,
        key,
        static_table(statement.name, no_rows(pa.schema(list(columns)))),
        statement.non_retroactive,
    )
    unit = COUNTED.get(options.get("time", "").lower())
    time = _time(statement, options)
    read = _changes_in(statement, reader, options)
    if unit is not None and read is None:
        raise MillstreamError(
            f'option "time" cannot be "{unit}s": {called(statement)} has no source of changes',
            option_place(statement, "time"),
            hint="Write 'timestamp', and give timestamps after AT.",
        )
    if statement.source is not None and reader.can_be_read_again(statement.source):
        return _in_database(bare, statement, reader, options, time)
    if statement.source is None:
        if options:
            raise _no_option(next(iter(options)), statement)
        return _changed_by_statements(bare, statement, time)
    if read is not None:
        stamp = _time_of_changes(statement, options_of(statement), read)
        return _fed_by_changes(bare, statement, options, stamp, base, unit)
    loaded = _loaded(bare, statement, reader, options)
    return _changed_by_statements(loaded, statement, time)


def _changes_in(
    statement: CreateTable, reader: Reader, options: Mapping[str, str]
) -> pa.DataType | None:
    """None unless the source holds changes; then the type of their times."""
    if statement.source is None or reader.can_be_read_again(statement.source):
        return None
    if any(column.name.lower() == "op" for column in statement.columns):
        return None
    return reader.time_of_changes(statement.source, options)


def modifications(table: Table, time: pa.DataType | None, **more: Any) -> Stream:
    """The stream of a table's modifications, which statements make.

    Their time is a column of that type, or, for None, that of their arrival. A table that changes
    now and then must not hold back those it is joined with, so the stream is idle at once.
    """
    names = {name.lower() for name, _ in table.columns}
    op = "#op" if "op" in names else "op"
    at = "#at" if "ts" in names else "ts"
    stamp = () if time is None else ((at, time),)
    return Stream(
        table.name,
        ((op, STRING), *stamp, *table.columns),
        CURRENT_TIME if time is None else at,
        **{"source": STATEMENTS, "base": "", "idle": 0, **more},
        op=op,
        keyed=bool(table.key),
    )


def static_table(name: str, rows: pa.RecordBatch) -> StaticTable:
    """Rows under a name and a digest of their content."""
    return StaticTable(name, hashlib.sha256(rows.serialize()).hexdigest()[:16], rows)


Time = tuple[pa.DataType | None, ...]
"""Nothing while the times of a table's changes are not known, otherwise their type; None is the
clock."""


def _time(statement: CreateTable, options: dict[str, str]) -> Time:
    """What the declaration says about the times of changes."""
    if (said := options.pop("time", None)) is not None:
        try:
            return (TIMES[OF_TABLES.read({"time": said})["time"]],)
        except MillstreamError as error:
            raise error.at(option_place(statement, "time")) from None
    if statement.slack is not None:
        return (INTEGER if statement.slack.unit is None else TIMESTAMP,)
    return ()


def _time_of_changes(
    statement: CreateTable, options: dict[str, str], read: pa.DataType
) -> pa.DataType:
    """What the times of changes count: as declared, as they look, or as the slack does."""
    column = next((c for c in declared_columns(statement.columns) if c[0].lower() == "ts"), None)
    if column is not None:
        return column[1]
    said = "time" in options
    time = _time(statement, options)
    if time == (None,):
        raise MillstreamError(
            f'option "time" cannot be "{CURRENT_TIME}": the source has times of its own',
            option_place(statement, "time"),
            hint="Leave it out.",
        )
    if read == NULL or said:
        return next((kind for kind in time if kind is not None), TIMESTAMP)
    return read


def _changed_by_statements(table: Table, statement: CreateTable, time: Time) -> Table:
    if not time:
        return table
    bare = modifications(table, time[0])
    return replace(table, changes=replace(bare, slack=_slack(bare, statement)))


def _fed_by_changes(
    table: Table,
    statement: CreateTable,
    options: dict[str, str],
    time: pa.DataType,
    base: str,
    unit: str | None,
) -> Table:
    """A table whose source has `op` and `ts` before its columns; `ts` may be one of them."""
    bare = modifications(table, time, source=statement.source, unit=unit)
    own = next((c for c in table.columns if c[0].lower() == "ts"), None)
    if own is not None:
        if time not in (INTEGER, TIMESTAMP):
            raise MillstreamError(
                f'the changes of table "{table.name}" cannot be ordered by column "{own[0]}", '
                f"a {type_name(time)}",
                next(c.place for c in statement.columns if c.name == own[0]),
                hint="Declare it as a timestamp or an integer.",
            )
        if unit is not None and time != INTEGER:
            raise MillstreamError(
                f'option "time" cannot be "{unit}s": column "{own[0]}" is a timestamp',
                option_place(statement, "time"),
                hint="Leave it out.",
            )
        bare = replace(bare, columns=(bare.columns[0], *table.columns), order_by=own[0])
    given = {n: options.pop(n, None) for n in STREAM_OPTIONS}
    idle = length_option(given["idle"], Domain.TIMESTAMP, "idle", statement)
    stream = replace(
        bare,
        slack=_slack(bare, statement),
        ahead=length_option(given["ahead"], bare.domain, "ahead", statement),
        idle=idle,
        by_clock=silence_option(given["silence"], bare, idle, statement),
        options=tuple(sorted(options.items())),
        base=base,
    )
    return replace(table, changes=stream)


def _in_database(
    table: Table, statement: CreateTable, reader: Reader, options: dict[str, str], time: Time
) -> Table:
    """A table of a database, read once, or every so often while the run goes on."""
    every = length_option(options.pop("every", None), Domain.TIMESTAMP, "every", statement)
    loaded = _loaded(table, statement, reader, options)
    if every is None:
        return _changed_by_statements(loaded, statement, time)
    wrong = None
    if not every:
        wrong = 'option "every" cannot be 0', "Write for example '10 seconds'."
    elif not table.key:
        wrong = 'option "every" needs a KEY', "Write KEY and the columns that name a row."
    if wrong is not None:
        raise MillstreamError(wrong[0], option_place(statement, "every"), hint=wrong[1])
    stream = modifications(table, None)
    _slack(stream, statement)
    said = repr((stream.declared, sorted(options.items())))
    digest = hashlib.sha256(said.encode()).hexdigest()[:16]
    return replace(
        loaded,
        content=StaticTable(table.name, digest, loaded.content.rows),
        changes=stream,
        source=statement.source,
        options=tuple(sorted(options.items())),
        every=every,
    )


def _slack(stream: Stream, statement: CreateTable) -> int:
    if statement.slack is None:
        return 0
    if stream.is_internal:
        raise MillstreamError(
            f"{called(statement)} takes no SLACK: its changes are stamped when they arrive",
            statement.slack_place,
            hint="Leave it out.",
        )
    return length_in(statement.slack, stream.domain, called(statement), statement.slack_place)


def _loaded(table: Table, statement: CreateTable, reader: Reader, options: dict[str, str]) -> Table:
    assert statement.source is not None
    schema = pa.schema(list(table.columns))
    try:
        rows = reader.load(statement.source, table.name, schema, options)
    except MillstreamError as error:
        raise error.at(source_fault(statement, error)) from None
    _check_key(rows, table.key, statement)
    return replace(table, content=static_table(table.name, rows))


def _key(statement: CreateTable, columns: Fields) -> tuple[str, ...]:
    key = tuple(_key_column(name, statement, columns) for name in statement.key)
    for at, name in enumerate(key):
        if name in key[:at]:
            raise MillstreamError(
                f'column "{name}" stands twice in KEY',
                statement.key_place,
                hint="Leave one of them out.",
            )
    return key


def _key_column(name: str, statement: CreateTable, columns: Fields) -> str:
    names = [n for n, _ in columns]
    for there in names:
        if there.lower() == name.lower():
            return there
    near = closest(name, names)
    raise MillstreamError(
        f'column "{name}" does not exist in table "{statement.name}"',
        statement.key_place,
        hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(names)}.",
    )


def _check_key(rows: pa.RecordBatch, key: tuple[str, ...], statement: CreateTable) -> None:
    """A key names one row."""
    if not key:
        return
    codes, first = factorize([rows.column(name) for name in key], rows.num_rows)
    again = np.flatnonzero(first[codes] != np.arange(rows.num_rows))
    if len(again):
        number = int(again[0])
        value = rows.select(list(key)).slice(number, 1).to_pylist()[0]
        shown = ", ".join(f"{n} {v}" for n, v in value.items())
        one = int(first[codes[number]]) + 1
        raise MillstreamError(
            f'rows {one} and {number + 1} of table "{statement.name}" have the same key: {shown}',
            statement.key_place,
            hint="Correct the rows in the file, or leave out KEY.",
        )


def _no_option(name: str, statement: CreateTable) -> MillstreamError:
    near = closest(name, OF_TABLES.names)
    known = f"Did you mean {near}?" if near else "Without SOURCE there is time."
    return MillstreamError(
        f'option "{name}" of table "{statement.name}" does not exist',
        option_place(statement, name),
        hint=of_elsewhere(name, statement) or known,
    )
