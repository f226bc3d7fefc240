"""Where the rows of a source come from: tables, stored tables, queries, table functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.blocks.general.naming import labels, own_labels
from millstream.blocks.general.scope import Code, Find, Frame, Scope, frame_at
from millstream.blocks.general.table import Table
from millstream.blocks.general.values import Row, rows_of
from millstream.blocks.queries import Columns, Local, Source, Stored, Tabled

Lookup = Callable[[int, Code], Find]
"""From a column and a value to the rows that may have it."""


@dataclass(frozen=True)
class Found:
    """The rows of a source, and how they are found by the value of a column, if they can be."""

    columns: Columns
    all: Find
    lookup: Lookup | None


def found(source: Source, scope: Scope) -> Found:
    """The rows of a source. What does not depend on other sources is made once per statement."""
    match source.of:
        case Local() as named:
            return _local(named, scope)
        case Stored(rows=rows):
            columns = tuple((field.name, field.type) for field in rows.schema)
            table = Table(rows_of(rows))
            return _of_table(columns, lambda f: table)
        case Tabled(routine=routine, arguments=arguments):
            columns, make = scope.shape.library.tabled(routine, arguments, scope)
            if labels(arguments):
                return Found(columns, make, None)
            return _kept(columns, make, scope)
    query = source.of
    make = scope.query(query).all
    if labels(query) - own_labels(query):
        return Found(query.columns, make, None)
    return _kept(query.columns, make, scope)


def _local(table: Local, scope: Scope) -> Found:
    place = scope.shape.up(table.depth).tables[table.name]
    around, slot = frame_at(table.depth), place.slot
    if table.depth == 0:
        return _of_table(place.columns, lambda f: f[slot])
    return _of_table(place.columns, lambda f: around(f)[slot])


def _of_table(columns: Columns, table: Callable[[Frame], Table]) -> Found:
    def lookup(column: int, value: Code) -> Find:
        return lambda f: [row for _, row in table(f).find(column, value(f))]

    return Found(columns, lambda f: table(f).rows.values(), lookup)


def _kept(columns: Columns, make: Callable[[Frame], list[Row]], scope: Scope) -> Found:
    """Rows that are computed when a statement first asks for them, and kept until it ends."""
    slot = scope.keep()

    def table(f: Frame) -> Table:
        kept = f[slot]
        if kept is None:
            kept = f[slot] = Table(make(f))
        return kept

    return _of_table(columns, table)
