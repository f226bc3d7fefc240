"""Definitions: streams, tables and named queries, from the syntax tree to catalog entries."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import pyarrow as pa

from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, TIMESTAMP, type_from_text, type_name
from millstream.bind.query import Bound, bind_query, renamed
from millstream.bind.windows import length_in
from millstream.bind.words import check_name, check_result_name, find_word
from millstream.catalog import CURRENT_TIME, Catalog, Fields, Stream, Table
from millstream.errors import MillstreamError, Notice, Place, closest
from millstream.lang import (
    ColumnDef,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateView,
    interval_from_text,
    place_of,
    to_sql,
)
from millstream.operators import Istream, StaticTable

STREAM_OPTIONS = ("ahead", "idle")
OPTIONS_OF_SOURCES = ("format", "header", "delimiter", "max_row_bytes")
Load = Callable[[str, str, pa.Schema, dict[str, str]], pa.RecordBatch]


def bind_stream(statement: CreateStream, base: str) -> Stream:
    """A declared stream; its time is checked against its columns."""
    check_result_name(statement.name, "stream", statement.name_place)
    columns = _columns(statement.columns)
    order = _order(statement, columns)
    options = _options(statement)
    bare = Stream(statement.name, columns, order)
    slack = 0
    if statement.slack is not None:
        if order is None or order == CURRENT_TIME:
            raise MillstreamError(
                f'stream "{statement.name}" takes no SLACK: it is ordered by arrival',
                statement.slack_place,
                hint="Write ORDER BY and a timestamp or integer column before it, or leave it out.",
            )
        slack = length_in(statement.slack, bare.domain, _called(statement), statement.slack_place)
    ahead = _length_option(options.pop("ahead", None), bare.domain, "ahead", statement)
    idle = _length_option(options.pop("idle", None), Domain.TIMESTAMP, "idle", statement)
    if statement.source is None and options:
        raise _no_option(next(iter(options)), statement)
    return Stream(
        statement.name,
        columns,
        order,
        slack,
        statement.source,
        tuple(sorted(options.items())),
        base,
        ahead,
        idle,
    )


def bind_table(statement: CreateTable, load: Load) -> Table:
    """A declared table with its rows, which `load` reads."""
    check_name(statement.name, "table", statement.name_place)
    columns = _columns(statement.columns)
    key = tuple(_key_column(name, statement, columns) for name in statement.key)
    if statement.source is None:
        raise MillstreamError(
            f'table "{statement.name}" has no SOURCE',
            statement.name_place,
            hint="Give the file its rows are in: SOURCE 'rows.csv'.",
        )
    options = _options(statement)
    try:
        rows = load(statement.source, statement.name, pa.schema(list(columns)), options)
    except MillstreamError as error:
        raise error.at(source_fault(statement, error)) from None
    _check_key(rows, key, statement)
    digest = hashlib.sha256(rows.serialize()).hexdigest()[:16]
    return Table(statement.name, columns, key, StaticTable(statement.name, digest, rows))


def source_fault(statement: CreateStream | CreateTable, error: MillstreamError) -> Place | None:
    """Which clause an error about a source is about: a column, an option, or the source."""
    match = re.match(r'(column|option|format) "([^"]*)"', error.message)
    if match and match[1] == "column":
        for column in statement.columns:
            if column.name.lower() == match[2].lower():
                return column.place
    if match and match[1] != "column":
        word = match[2] if match[1] == "option" else "format"
        if statement.options_place and word not in OPTIONS_OF_SOURCES:
            near = closest(word, STREAM_OPTIONS)
            error.hint = f"Did you mean {near}?" if near else error.hint
        return _option_place(statement, word)
    return statement.source_place


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
    seen: dict[tuple[object, ...], int] = {}
    values = zip(*(rows.column(name).to_pylist() for name in key)) if key else ()
    for number, value in enumerate(values, 1):
        if (first := seen.setdefault(value, number)) != number:
            shown = ", ".join(f"{n} {v}" for n, v in zip(key, value))
            raise MillstreamError(
                f'rows {first} and {number} of table "{statement.name}" have one key: {shown}',
                statement.key_place,
                hint="Mend the rows in the file, or leave out KEY.",
            )


def bind_derived(
    statement: CreateStreamAs | CreateView, catalog: Catalog, text: str
) -> tuple[Bound, str]:
    """The plan of a named query with its column names, and its text."""
    kind = "stream" if isinstance(statement, CreateStreamAs) else "view"
    check_result_name(statement.name, kind, statement.name_place)
    bound = bind_query(statement.query, catalog, text)
    plan = bound.plan
    notices = bound.notices
    if isinstance(statement, CreateStreamAs):
        plan, more = _as_stream(plan, statement, text)
        notices = (*notices, *more)
    if statement.columns is not None:
        called = f'{kind} "{statement.name}"'
        plan = renamed(plan, statement.columns, called, _list_place(statement))
    return Bound(plan, bound.form, notices), to_sql(statement.query)


def outermost(bound: Bound) -> Bound:
    """The defaults of an outermost query: Istream if it only grows, otherwise a stored result."""
    if bound.plan.is_stream or bound.form is not None:
        return bound
    if bound.plan.monotonic:
        notice = Notice("the answer only grows: Istream is used, and the result is a stream")
        return Bound(Istream(bound.plan), None, (*bound.notices, notice))
    notice = Notice(
        "rows can leave the answer: it is kept as a stored result (COMPLETE)",
        "Write Istream, Dstream or Rstream for a stream, or SELECT STREAMED for changes.",
    )
    return Bound(bound.plan, "complete", (*bound.notices, notice))


def _as_stream(plan: Node, statement: CreateStreamAs, text: str) -> tuple[Node, list[Notice]]:
    if plan.is_stream:
        return plan, []
    if plan.monotonic:
        return Istream(plan), [Notice("the answer only grows: Istream is used")]
    raise MillstreamError(
        f'stream "{statement.name}" is defined by a relation',
        place_of(statement.query, text) or statement.name_place,
        detail="Rows can leave the answer, so it is not clear which of its changes are meant.",
        hint="Put Istream, Dstream or Rstream around the select list, or write CREATE VIEW.",
    )


def _list_place(statement: CreateStreamAs | CreateView) -> Place:
    """The names in parentheses after the name."""
    text, start = statement.name_place.text, statement.name_place.end
    found = re.compile(r"\s*(\([^)]*\))").match(text, start)
    return Place(text, found.start(1), found.end(1)) if found else statement.name_place


def _columns(definitions: tuple[ColumnDef, ...]) -> Fields:
    columns: list[tuple[str, pa.DataType]] = []
    for definition in definitions:
        if any(definition.name.lower() == name.lower() for name, _ in columns):
            raise MillstreamError(
                f'column "{definition.name}" is declared twice',
                definition.place,
                hint="Give one of them another name.",
            )
        check_name(definition.name, "column", definition.place)
        kind = type_from_text(definition.type)
        if kind is None:
            raise MillstreamError(f'type "{definition.type}" does not exist', definition.place)
        columns.append((definition.name, kind))
    return tuple(columns)


def _order(statement: CreateStream, columns: Fields) -> str | None:
    if statement.order_by is None:
        return None
    names = {name.lower(): (name, kind) for name, kind in columns}
    wanted = statement.order_by.lower()
    if wanted == CURRENT_TIME and wanted not in names:
        return CURRENT_TIME
    place = _after("order by", statement.order_place)
    if wanted not in names:
        near = closest(wanted, list(names))
        raise MillstreamError(
            f'column "{statement.order_by}" does not exist in stream "{statement.name}"',
            place,
            hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(names)}.",
        )
    name, kind = names[wanted]
    if kind not in (TIMESTAMP, INTEGER):
        raise MillstreamError(
            f'stream "{statement.name}" cannot be ordered by column "{name}", a {type_name(kind)}',
            place,
            hint="Order by a timestamp or an integer.",
        )
    return name


def _options(statement: CreateStream | CreateTable) -> dict[str, str]:
    options: dict[str, str] = {}
    for key, value in statement.options:
        if key.lower() in options:
            raise MillstreamError(
                f'option "{key}" is given twice',
                statement.options_place,
                hint="Leave one of them out.",
            )
        options[key.lower()] = value
    return options


def _no_option(name: str, statement: CreateStream) -> MillstreamError:
    near = closest(name, STREAM_OPTIONS)
    return MillstreamError(
        f'option "{name}" of stream "{statement.name}" does not exist',
        _option_place(statement, name),
        hint=f"Did you mean {near}?" if near else "Without SOURCE there are ahead and idle.",
    )


def _option_place(statement: CreateStream | CreateTable, name: str) -> Place | None:
    """One option of WITH, with its value."""
    place = statement.options_place
    if place is None:
        return statement.source_place
    quoted = re.escape(name)
    pattern = rf"""['"]?\b{quoted}\b['"]?\s*=\s*('(?:[^']|'')*'|"[^"]*"|[^,()]*[^,()\s])"""
    found = re.compile(pattern, re.IGNORECASE).search(place.text, place.start, place.end)
    return Place(place.text, found.start(), found.end()) if found else place


def _after(word: str, place: Place | None) -> Place | None:
    """What follows the word of a clause."""
    if place is None or (found := find_word(word, place.text, place.start)) is None:
        return place
    rest = place.text[found.end : place.end]
    return Place(place.text, place.end - len(rest.lstrip()), place.end)


def _called(statement: CreateStream) -> str:
    return f'stream "{statement.name}"'


def _length_option(
    value: str | None, domain: Domain, name: str, statement: CreateStream
) -> int | None:
    if value is None:
        return None
    try:
        interval = interval_from_text(value)
        if name == "idle" and interval.unit is None:
            raise MillstreamError(
                f"length {value} has no unit", hint=f"Write a unit, for example '{value} seconds'."
            )
        if interval.amount < 0:
            raise MillstreamError("a length of time cannot be negative")
        return length_in(interval, domain, _called(statement), None)
    except MillstreamError as error:
        raise MillstreamError(
            f'option "{name}": {error.message}', _option_place(statement, name), hint=error.hint
        ) from None
