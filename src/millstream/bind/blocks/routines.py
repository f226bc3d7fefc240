"""A definition of an aggregate or a table function: from its statement to a Routine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from millstream.algebra.expressions import Call, Expression, conjuncts
from millstream.algebra.types import type_from_text, type_name
from millstream.bind.blocks.body import Body, Shared, Signature
from millstream.bind.blocks.statements import bind_rows, bind_statement
from millstream.bind.names.words import check_name
from millstream.blocks.leaves import Argument, Field
from millstream.blocks.queries import Columns
from millstream.blocks.routine import (
    INWINDOW,
    RETURN,
    Delete,
    LocalTable,
    Routine,
    Statement,
    with_calls,
)
from millstream.catalog import Catalog
from millstream.connect.table import TableFiles
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import (
    BlockDelete,
    BlockStatement,
    ColumnDef,
    CreateRoutine,
    LocalTableDef,
    Section,
    to_sql,
)


def bind_routine(
    statement: CreateRoutine, catalog: Catalog, text: str, files: TableFiles | None = None
) -> tuple[Routine, tuple[Notice, ...], tuple[str, ...]]:
    """The routine that a statement defines, what its author should know, and the names it reads."""
    shared = Shared(catalog, text, files)
    made, inner = _bind(statement, statement.name.lower(), None, shared)
    own = {key: routine for key, routine in inner.items() if key in shared.own}
    calls = {**shared.called, **own}
    return with_calls(made, calls), tuple(shared.notices), tuple(shared.reads)


def _bind(
    statement: CreateRoutine, key: str, outside: Body | None, shared: Shared
) -> tuple[Routine, dict[str, Routine]]:
    """A routine and those inside it, without what they call; all of them by their keys."""
    _check_words(statement)
    body = _body(statement, key, outside, shared)
    tables = tuple(_tables(statement, body))
    bound = [_bind(one, f"{key}.{one.name.lower()}", body, shared) for one in statement.inner]
    made = Routine(
        statement.name,
        body.arguments,
        body.returns,
        tables,
        is_window=statement.is_window,
        is_algebraic=statement.is_algebraic,
        is_function=statement.kind == "function",
        inwindow=body.inwindow if INWINDOW in body.tables else None,
        inner=tuple(routine for routine, _ in bound),
        text=to_sql(replace(statement, replaces=False)),
        **_blocks(statement, body),
    )
    found = {k: routine for _, inner in bound for k, routine in inner.items()}
    return made, {**found, key: made}


def _check_words(statement: CreateRoutine) -> None:
    check_name(statement.name, statement.kind, statement.name_place)
    labels = {
        label: (place, section)
        for section in statement.sections
        for label, place in zip(section.labels, section.label_places)
    }
    if "expire" in labels and not statement.is_window:
        raise MillstreamError(
            f'EXPIRE is for window aggregates, and aggregate "{statement.name}" is none',
            labels["expire"][0],
            hint=f"Write WINDOW AGGREGATE {statement.name}.",
        )
    if statement.is_window and "terminate" in labels and labels["terminate"][1].statements:
        raise MillstreamError(
            "a window aggregate does not end: its TERMINATE would never run",
            labels["terminate"][0],
            hint="Return rows in ITERATE and EXPIRE, or leave WINDOW out.",
        )


def _body(statement: CreateRoutine, key: str, outside: Body | None, shared: Shared) -> Body:
    arguments = _columns(statement.arguments, "argument")
    returns = _columns(statement.returns, "column")
    me = None
    if not statement.is_window:
        is_function = statement.kind == "function"
        me = Signature(key, statement.name, arguments, returns, is_function)
    body = Body(
        shared,
        statement.kind,
        statement.name,
        key,
        arguments,
        returns,
        statement.is_window,
        me,
        outside=outside,
    )
    for inner in statement.inner:
        if inner.name.lower() in body.inner:
            raise MillstreamError(
                f'"{inner.name}" is defined twice in {body}',
                inner.name_place,
                hint="Give one of them another name.",
            )
        if inner.is_window:
            raise MillstreamError(
                "a window aggregate cannot stand inside another definition",
                inner.name_place,
                hint="Blocks call base aggregates: leave WINDOW out.",
            )
        body.inner[inner.name.lower()] = Signature(
            f"{key}.{inner.name.lower()}",
            inner.name,
            _columns(inner.arguments, "argument"),
            _columns(inner.returns, "column"),
            inner.kind == "function",
        )
    return body


def _columns(columns: tuple[ColumnDef, ...], what: str) -> Columns:
    found: dict[str, tuple[str, pa.DataType]] = {}
    for column in columns:
        check_name(column.name, what, column.place)
        if column.name.lower() in found:
            raise MillstreamError(
                f'{what} "{column.name}" stands twice',
                column.place,
                hint="Give one of them another name.",
            )
        found[column.name.lower()] = (column.name, _type(column.type, column.place))
    return tuple(found.values())


def _type(text: str, place: Place) -> pa.DataType:
    kind = type_from_text(text)
    if kind is None:
        raise MillstreamError(f'type "{text}" does not exist', place)
    return kind


def _tables(statement: CreateRoutine, body: Body) -> Iterator[LocalTable]:
    """The local tables, each known to those after it; `inwindow` is not one of them."""
    for table in statement.tables:
        if table.name.lower() in body.tables:
            raise MillstreamError(
                f'local table "{table.name}" stands twice',
                table.name_place,
                hint="Give one of them another name.",
            )
        if table.name.lower() == RETURN:
            raise MillstreamError(
                "a local table cannot be called RETURN",
                table.name_place,
                hint="RETURN is where rows are put that the routine gives: choose another name.",
            )
        if table.name.lower() == INWINDOW:
            body.tables[INWINDOW] = (INWINDOW, _inwindow(table, body))
            continue
        columns = _columns(table.columns, "column")
        begins = None
        if table.begins is not None:
            try:
                begins = bind_rows(table.begins, columns, f'table "{table.name}"', body)
            except MillstreamError as error:
                raise error.at(table.place) from None
        body.tables[table.name.lower()] = (table.name, columns)
        yield LocalTable(table.name, columns, begins, _indexes(table, columns))


def _indexes(table: LocalTableDef, columns: Columns) -> tuple[tuple[str, ...], ...]:
    names = {name.lower(): name for name, _ in columns}
    for index, place in zip(table.indexes, table.index_places):
        for name in index:
            if name.lower() not in names:
                raise MillstreamError(
                    f'column "{name}" does not exist in table "{table.name}"',
                    place,
                    hint=f"Write one of {', '.join(names.values())}.",
                )
    return tuple(tuple(names[n.lower()] for n in index) for index in table.indexes)


def _inwindow(table: LocalTableDef, body: Body) -> Columns:
    """The columns of the window: those of the arguments, under the names of the author."""
    if not body.is_window:
        raise MillstreamError(
            f"inwindow is for window aggregates, and {body} is none",
            table.name_place,
            hint=f"Write WINDOW AGGREGATE {body.name}.",
        )
    if table.begins is not None or table.indexes:
        raise MillstreamError(
            "inwindow holds the tuples of the window, and takes names of columns only",
            table.place,
            hint="Leave out what stands behind them.",
        )
    if len(table.columns) != len(body.arguments):
        raise MillstreamError(
            f"inwindow has {_count(len(table.columns), 'column')}, and {body} "
            f"{_count(len(body.arguments), 'argument')}",
            table.place,
            hint="Name one column for every argument, in their order.",
        )
    kinds = [type_name(kind) for _, kind in body.arguments]
    typed = tuple(replace(c, type=c.type or k) for c, k in zip(table.columns, kinds))
    columns = _columns(typed, "column")
    for (name, kind), (argument, wanted), column in zip(columns, body.arguments, typed):
        if kind != wanted:
            raise MillstreamError(
                f'column "{name}" of inwindow is {type_name(kind)}, and argument "{argument}" is '
                f"{type_name(wanted)}",
                column.place,
                hint="Leave the type out: it is that of the argument.",
            )
    return columns


def _count(count: int, what: str) -> str:
    """
    >>> _count(1, "column"), _count(0, "column")
    ('1 column', 'no columns')
    """
    return f"1 {what}" if count == 1 else f"{count or 'no'} {what}s"


def _blocks(statement: CreateRoutine, body: Body) -> dict[str, Any]:
    """The bound blocks by their labels; a body without labels is INITIALIZE and ITERATE."""
    found: dict[str, Any] = {"initialize": (), "iterate": ()}
    for section in statement.sections:
        block = tuple(_statement(s, section, body) for s in section.statements)
        labels = section.labels or (
            ("initialize",) if statement.kind == "function" else ("initialize", "iterate")
        )
        found |= dict.fromkeys(labels, block)
    if not found.get("terminate"):
        found["terminate"] = None
    return found


def _statement(statement: BlockStatement, section: Section, body: Body) -> Statement:
    bound = bind_statement(statement, body)
    if isinstance(bound, Delete) and "iterate" in section.labels:
        assert isinstance(statement, BlockDelete)
        _tell_of_arrival(bound, statement, body)
    return bound


def _tell_of_arrival(bound: Delete, statement: BlockDelete, body: Body) -> None:
    """The author is told when a DELETE removes the tuple that has just arrived."""
    if bound.table != INWINDOW or bound.depth or bound.where is None or body.inwindow is None:
        return
    pairs = {n: a for (n, _), (a, _) in zip(body.inwindow, body.arguments)}
    parts = conjuncts(bound.where)
    if not all(_holds_for_arrival(part, bound.label, pairs) for part in parts):
        return
    assert statement.where is not None
    part = parts[0]
    assert isinstance(part, Call)
    column, argument = _compared(part)
    less = part.function.rstrip("=") if part.function != "=" else "<"
    body.shared.tell(
        f"the DELETE in line {statement.place.line} removes the tuple that has just arrived: it "
        f"is in inwindow when ITERATE runs, and {column} {part.function} {argument} holds for it",
        f"Write {column} {less} {argument} to keep it.",
    )


def _compared(part: Call) -> tuple[str, str]:
    first, second = (getattr(value, "name", "") for value in part.arguments)
    return first, second


def _holds_for_arrival(part: Expression, label: int, pairs: dict[str, str]) -> bool:
    """Whether a condition compares a column of the window with its own argument, and takes
    equal ones."""
    if not (isinstance(part, Call) and part.function in ("<=", ">=", "=")):
        return False
    match part.arguments:
        case (Field(label=of, name=name), Argument(name=argument, depth=0)):
            return of == label and pairs.get(name) == argument
        case (Argument(name=argument, depth=0), Field(label=of, name=name)):
            return of == label and pairs.get(name) == argument
    return False
