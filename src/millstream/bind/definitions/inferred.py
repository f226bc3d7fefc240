"""Declarations without columns: these are inferred from the source, and told as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from millstream.algebra.types import DATE, TIMESTAMP, type_name
from millstream.bind.definitions.clauses import called, options_of, source_fault
from millstream.catalog import Fields, Stream
from millstream.connect.connector import Inferred
from millstream.connect.opening import infer_columns
from millstream.connect.options import OF_STREAMS, OF_TABLES
from millstream.errors import MillstreamError, Notice, closest
from millstream.lang import ColumnDef, CreateStream, CreateTable, parse_script, to_sql

Declaration = TypeVar("Declaration", CreateStream, CreateTable)


@dataclass(frozen=True)
class Completed(Generic[Declaration]):
    """A statement with its columns, as text that can be pasted, and what to say about it."""

    statement: Declaration
    text: str
    notice: Notice


def is_whole(statement: Declaration) -> bool:
    """Whether all columns of a declaration are there, with their types."""
    return bool(statement.columns) and all(column.type for column in statement.columns)


def with_columns(
    statement: Declaration, base: str, remembered: str | None
) -> Completed[Declaration]:
    """The statement with the columns that its source has.

    `remembered` is the declaration that the checkpoint of the run began with. It stands as long as
    the statement is the same: a file that has grown does not make another stream of it.
    """
    assert statement.source is not None
    before = None if remembered is None else _as_before(statement, remembered)
    if before is not None:
        whole = replace(statement, columns=before)
        return _completed(whole, "are those that the checkpoint began with", None)
    left = {*OF_STREAMS.names, *OF_TABLES.names}
    options = tuple(sorted((k, v) for k, v in options_of(statement).items() if k not in left))
    bare = Stream(statement.name, (), source=statement.source, options=options, base=base)
    try:
        inferred = infer_columns(bare)
    except MillstreamError as error:
        raise error.at(source_fault(statement, error)) from None
    columns = _fitting(statement, inferred.columns)
    place = statement.source_place or statement.name_place
    there = tuple(ColumnDef(name=n, type=type_name(kind), place=place) for n, kind in columns)
    wanted = tuple(_typed(column, there, inferred.file) for column in statement.columns)
    whole = replace(statement, columns=wanted or there)
    how = f'are inferred from {_seen(inferred)}"{inferred.file}"{_left_out(inferred)}'
    hint = None if inferred.rows is None else "A later row that does not fit is a bad row."
    return _completed(whole, how, hint)


def _completed(whole: Declaration, how: str, hint: str | None) -> Completed[Declaration]:
    text = f"{to_sql(whole)};"
    return Completed(whole, text, Notice(f"the columns of {called(whole)} {how}: {text}", hint))


def _as_before(
    statement: CreateStream | CreateTable, remembered: str
) -> tuple[ColumnDef, ...] | None:
    """The columns of an earlier declaration, if it was made by the same statement."""
    try:
        earlier = parse_script(remembered)[0]
    except MillstreamError:
        return None
    if not isinstance(earlier, CreateStream | CreateTable):
        return None
    if replace(earlier, columns=statement.columns) != statement:
        return None
    written = [
        (c.name, c.type or there.type) for c, there in zip(statement.columns, earlier.columns)
    ]
    if statement.columns and written != [(c.name, c.type) for c in earlier.columns]:
        return None
    place = statement.source_place or statement.name_place
    return tuple(replace(column, place=place) for column in earlier.columns)


def _typed(column: ColumnDef, there: tuple[ColumnDef, ...], file: str) -> ColumnDef:
    """A column with the type that its source has for it, if none was written."""
    if column.type:
        return column
    for found in there:
        if found.name.lower() == column.name.lower():
            return replace(column, type=found.type)
    near = closest(column.name, [found.name for found in there])
    raise MillstreamError(
        f'column "{column.name}" does not exist in file "{file}"',
        column.place,
        detail=f"It has {', '.join(found.name for found in there)}.",
        hint=f'Did you mean "{near}"?' if near else "Write a type for a column that comes later.",
    )


def _fitting(statement: CreateStream | CreateTable, columns: Fields) -> Fields:
    """The columns as the statement needs them: time is no date, and a change is not a column."""
    if isinstance(statement, CreateTable):
        names = {name.lower() for name, _ in columns}
        changes = {"op", "ts"} if {"op", "ts"} <= names else set()
        return tuple(column for column in columns if column[0].lower() not in changes)
    order = (statement.order_by or "").lower()
    return tuple(
        (name, TIMESTAMP if name.lower() == order and kind == DATE else kind)
        for name, kind in columns
    )


def _seen(inferred: Inferred) -> str:
    return "" if inferred.rows is None else f"the first {inferred.rows:,} rows of "


def _left_out(inferred: Inferred) -> str:
    if not inferred.left_out:
        return ""
    names = ", ".join(f'"{name}"' for name in inferred.left_out)
    return f" (without {names})"
