"""Columns that count: too small, by far, to become too large."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.algebra.expressions import Call, Expression, Literal
from millstream.algebra.types import INTEGER
from millstream.blocks.leaves import Field
from millstream.blocks.queries import Query, Select, Values
from millstream.blocks.routine import Insert, LocalTable, Routine, Update

SMALL = 2**20
"""A column that is changed by less than this at a time passes 2⁶² after 2⁴² changes: never."""


def counters(routine: Routine, table: LocalTable) -> frozenset[int]:
    """The columns that begin with a small number, and change by small ones."""
    if any(inner for inner in routine.inner):
        return frozenset()
    found = {j for j, (_, kind) in enumerate(table.columns) if kind == INTEGER}
    for query in _fillings(routine, table):
        for row in _rows(query):
            found = {j for j in found if row is not None and _is_small(row[j])}
    names = [name for name, _ in table.columns]
    for statement in routine.statements():
        if isinstance(statement, Update) and statement.table == table.name:
            for name, value in statement.values:
                if not _counts(name, value):
                    found.discard(names.index(name))
    return frozenset(found)


def _fillings(routine: Routine, table: LocalTable) -> Iterator[Query]:
    if table.begins is not None:
        yield table.begins
    for statement in routine.statements():
        if isinstance(statement, Insert) and statement.table == table.name:
            yield statement.query


def _rows(query: Query) -> Iterator[tuple[Expression, ...] | None]:
    match query:
        case Values(rows=rows):
            yield from rows
        case Select(outputs=outputs):
            yield tuple(value for _, value in outputs)
        case _:
            yield None


def _is_small(value: Expression) -> bool:
    return isinstance(value, Literal) and type(value.value) is int and abs(value.value) < SMALL


def _counts(name: str, value: Expression) -> bool:
    match value:
        case Call(function="+" | "-", arguments=(Field(name=own), step)) if own == name:
            return _is_small(step)
    return _is_small(value)
