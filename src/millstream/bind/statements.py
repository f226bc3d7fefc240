"""Definitions: streams, tables and named queries, from the syntax tree to catalog entries."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pyarrow as pa

from millstream.algebra.expressions import Column
from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, TIMESTAMP, type_from_text, type_name
from millstream.bind.query import Bound, bind_query
from millstream.bind.windows import length_in
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
from millstream.operators import Istream, Project, StaticTable

STREAM_OPTIONS = ("ahead", "idle")


def bind_stream(statement: CreateStream, base: str) -> Stream:
    """A declared stream; its time is checked against its columns."""
    columns = _columns(statement.columns)
    order = _order(statement, columns)
    options = {key.lower(): value for key, value in statement.options}
    bare = Stream(statement.name, columns, order)
    slack = 0
    if statement.slack is not None:
        if order is None or order == CURRENT_TIME:
            raise MillstreamError(
                f'stream "{statement.name}" takes no SLACK: its elements are in order by themselves',
                statement.slack_place, hint="SLACK goes with ORDER BY a column.",
            )
        slack = length_in(statement.slack, bare.domain, statement.name, statement.slack_place)
    ahead = _length_option(options.pop("ahead", None), bare.domain, "ahead", statement)
    idle = _length_option(options.pop("idle", None), Domain.TIMESTAMP, "idle", statement)
    return Stream(statement.name, columns, order, slack, statement.source,
                  tuple(sorted(options.items())), base, ahead, idle)


def bind_table(
    statement: CreateTable, base: str, load: Callable[[str, str, pa.Schema, dict[str, str]], pa.RecordBatch]
) -> Table:
    """A declared table with its rows, which `load` reads."""
    columns = _columns(statement.columns)
    names = [name for name, _ in columns]
    for name in statement.key:
        if name not in names:
            raise MillstreamError(f'column "{name}" does not exist in "{statement.name}"',
                                  statement.key_place)
    if statement.source is None:
        raise MillstreamError(
            f'table "{statement.name}" has no SOURCE', statement.name_place,
            hint="Give the file its rows are in: SOURCE 'rows.csv'.",
        )
    try:
        rows = load(statement.source, statement.name, pa.schema(list(columns)), dict(statement.options))
    except MillstreamError as error:
        raise error.at(statement.source_place) from None
    digest = hashlib.sha256(rows.serialize()).hexdigest()[:16]
    return Table(statement.name, columns, statement.key, StaticTable(statement.name, digest, rows))


def bind_derived(
    statement: CreateStreamAs | CreateView, catalog: Catalog, text: str
) -> tuple[Bound, str]:
    """The plan of a named query with its column names, and its text."""
    bound = bind_query(statement.query, catalog, text)
    plan = bound.plan
    notices = bound.notices
    if isinstance(statement, CreateStreamAs):
        plan, more = _as_stream(plan, statement, text)
        notices = (*notices, *more)
    if statement.columns is not None:
        plan = _renamed(plan, statement.columns, statement.name_place)
    return Bound(plan, bound.form, notices), to_sql(statement.query)


def outermost(bound: Bound) -> Bound:
    """The defaults of an outermost query: Istream if it only grows, otherwise a stored result."""
    if bound.plan.is_stream or bound.form is not None:
        return bound
    if bound.plan.monotonic:
        notice = Notice("the answer only grows: Istream is used, and the result is a stream")
        return Bound(Istream(bound.plan), None, (*bound.notices, notice))
    notice = Notice("rows can leave the answer: it is kept as a stored result (COMPLETE)",
                    "Write Istream, Dstream or Rstream for a stream, or SELECT STREAMED for changes.")
    return Bound(bound.plan, "complete", (*bound.notices, notice))


def _as_stream(plan: Node, statement: CreateStreamAs, text: str) -> tuple[Node, list[Notice]]:
    if plan.is_stream:
        return plan, []
    if plan.monotonic:
        return Istream(plan), [Notice("the answer only grows: Istream is used")]
    raise MillstreamError(
        f'stream "{statement.name}" is defined by a relation',
        place_of(statement.query, text) or statement.name_place,
        detail="Rows can leave the answer of this query, so it is not clear which changes are meant.",
        hint="Put Istream, Dstream or Rstream around the select list, or write CREATE VIEW.",
    )


def _renamed(plan: Node, names: tuple[str, ...], place: Place) -> Node:
    if len(names) != len(plan.schema):
        raise MillstreamError(
            f"{len(names)} columns are named, and the query gives {len(plan.schema)}", place
        )
    return Project(tuple((n, Column(f.name, f.type)) for n, f in zip(names, plan.schema)), plan)


def _columns(definitions: tuple[ColumnDef, ...]) -> Fields:
    columns: list[tuple[str, pa.DataType]] = []
    for definition in definitions:
        if any(definition.name.lower() == name.lower() for name, _ in columns):
            raise MillstreamError(f'column "{definition.name}" is there twice', definition.place)
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
    if wanted not in names:
        near = closest(wanted, list(names))
        raise MillstreamError(
            f'column "{statement.order_by}" does not exist in "{statement.name}"',
            statement.order_place,
            hint=f'Did you mean "{near}"?' if near else "Order by one of its columns.",
        )
    name, kind = names[wanted]
    if kind not in (TIMESTAMP, INTEGER):
        raise MillstreamError(
            f'a stream cannot be ordered by "{name}", a {type_name(kind)}', statement.order_place,
            hint="Order by a timestamp or an integer.",
        )
    return name


def _length_option(
    value: str | None, domain: Domain, name: str, statement: CreateStream
) -> int | None:
    if value is None:
        return None
    try:
        return length_in(interval_from_text(value), domain, statement.name, None)
    except MillstreamError as error:
        raise MillstreamError(f'option "{name}": {error.message}', statement.options_place,
                              hint=error.hint) from None
