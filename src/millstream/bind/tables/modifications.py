"""INSERT, UPDATE and DELETE: from the syntax tree to rows that enter and leave a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from millstream.algebra.changes import take_rows
from millstream.algebra.evaluate import cast, castable, evaluate, holds
from millstream.algebra.expressions import TRUE, Expression, Literal
from millstream.algebra.types import DATE, INTEGER, NULL, STRING, TIMESTAMP, is_numeric
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a, no_cast
from millstream.bind.expressions.quoted import as_string
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.scope import Member, Scope
from millstream.catalog import Table
from millstream.errors import MillstreamError, Notice, Place, closest
from millstream.lang import Delete, Insert, Load, Modification, Update, place_of

NOTHING = pa.RecordBatch.from_arrays([pa.array([True])], names=["#"])
"""The row that constants are computed over."""


@dataclass(frozen=True, eq=False)
class BoundChange:
    """One statement, bound: new rows, or new values or an end for the rows that meet a condition.

    `at` is its instant, None for the beginning of the run, or, while it runs, for now.
    """

    at: int | None
    rows: pa.RecordBatch | None = None
    values: tuple[tuple[str, Expression], ...] = ()
    where: Expression = TRUE

    def ops(
        self, present: pa.RecordBatch, key: tuple[str, ...]
    ) -> list[tuple[str, pa.RecordBatch]]:
        """What it does to the rows that are there: ops with their rows, one after the other."""
        if self.rows is not None:
            return [("insert", self.rows)]
        met = np.flatnonzero(holds(self.where, present, present.num_rows))
        old = take_rows(present, met)
        if not self.values:
            return [("delete", old)]
        given = dict(self.values)
        arrays = [
            evaluate(given[f.name], old, len(met)) if f.name in given else old.column(f.name)
            for f in old.schema
        ]
        new = pa.RecordBatch.from_arrays(arrays, schema=old.schema)
        if key and not set(key) & given.keys():
            return [("update", new)]
        return [("delete", old), ("insert", new)]


def bind_modification(
    statement: Modification,
    table: Table,
    text: str,
    notices: list[Notice],
    loaded: pa.RecordBatch | None = None,
) -> tuple[BoundChange, pa.DataType | None]:
    """A statement that changes a table, and the type of its time, None if it has none.

    `loaded` are the rows of its file, if it names one.
    """
    at, kind = (None, None) if statement.at is None else _time(statement.at, text)
    binder = _Binder(table, text, notices)
    match statement:
        case Load():
            return BoundChange(at, rows=loaded), kind
        case Insert():
            return BoundChange(at, rows=binder.rows(statement)), kind
        case Update():
            values = binder.values(statement)
            return BoundChange(at, values=values, where=binder.condition(statement.where)), kind
        case Delete():
            return BoundChange(at, where=binder.condition(statement.where)), kind
    raise TypeError(f"{type(statement).__name__} is not a modification")


def _time(node: exp.Expr, text: str) -> tuple[int, pa.DataType]:
    """The instant that AT names, and whether it is an integer or a timestamp."""
    place = place_of(node, text)
    _check_constant(node, text, "AT")
    bound = Expressions(Scope(()), text, "AT").bind(node)
    value = evaluate(bound, NOTHING, 1)
    if bound.type in (STRING, DATE, TIMESTAMP):
        value = cast(value, TIMESTAMP)
    elif bound.type != INTEGER:
        raise MillstreamError(
            f"AT needs a time, and this is {a(bound.type)}",
            place,
            hint="Write an integer, or a timestamp: AT '2024-05-01 10:00:00'.",
        )
    instant = value.cast(INTEGER)[0].as_py()
    if instant is None:
        raise MillstreamError(
            f"{bound} is not a time", place, hint="Write it as '2024-05-01 10:00:00'."
        )
    return instant, value.type


def _check_constant(node: exp.Expr, text: str, clause: str) -> None:
    """Names mean nothing where there are no rows."""
    for column in node.find_all(exp.Column):
        raise MillstreamError(
            f'column "{column.name}" cannot stand in {clause}',
            place_of(column, text),
            hint=f"Write a constant; a string is written {as_string(column.name)}.",
        )


@dataclass(frozen=True)
class _Binder:
    """Binds the expressions of one statement about a table."""

    table: Table
    text: str
    notices: list[Notice]

    def rows(self, statement: Insert) -> pa.RecordBatch:
        names = self._names(statement)
        kinds = dict(self.table.columns)
        cells: dict[str, list[object]] = {name: [] for name in kinds}
        for values, place in zip(statement.rows, statement.row_places):
            if len(values) != len(names):
                count = "1 value" if len(values) == 1 else f"{len(values)} values"
                raise MillstreamError(
                    f"the row has {count}, and there are {len(names)} columns",
                    place,
                    hint=f"Give values for {', '.join(names)}.",
                )
            given = dict(zip(names, values))
            for name, kind in kinds.items():
                value = self._constant(given[name], kind, name) if name in given else None
                cells[name].append(value)
        arrays = [pa.array(cells[name], kind) for name, kind in kinds.items()]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(list(self.table.columns)))

    def values(self, statement: Update) -> tuple[tuple[str, Expression], ...]:
        kinds = dict(self.table.columns)
        found: dict[str, Expression] = {}
        for (written, node), place in zip(statement.values, statement.value_places):
            name = self._column(written, place)
            if name in found:
                raise MillstreamError(
                    f'column "{name}" is set twice', place, hint="Leave one of them out."
                )
            bound = self._expressions("SET").bind(node)
            self._check(bound, kinds[name], name, node)
            if isinstance(bound, Literal):
                bound = Literal(self._read(bound, kinds[name], name, node), kinds[name])
            found[name] = coerce(bound, kinds[name])
        return tuple(found.items())

    def condition(self, node: exp.Expr | None) -> Expression:
        return TRUE if node is None else self._expressions("WHERE").condition(node, "WHERE")

    def _expressions(self, clause: str) -> Expressions:
        columns = tuple((name, name, kind) for name, kind in self.table.columns)
        scope = Scope((Member(self.table.name, columns),))
        return Expressions(scope, self.text, clause, notices=self.notices)

    def _names(self, statement: Insert) -> list[str]:
        if statement.columns is None:
            return [name for name, _ in self.table.columns]
        found: list[str] = []
        for written in statement.columns:
            name = self._column(written, statement.columns_place)
            if name in found:
                raise MillstreamError(
                    f'column "{name}" stands twice',
                    statement.columns_place,
                    hint="Leave one of them out.",
                )
            found.append(name)
        return found

    def _column(self, written: str, place: Place | None) -> str:
        names = [name for name, _ in self.table.columns]
        for name in names:
            if name.lower() == written.lower():
                return name
        near = closest(written, names)
        raise MillstreamError(
            f'column "{written}" does not exist in table "{self.table.name}"',
            place,
            hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(names)}.",
        )

    def _constant(self, node: exp.Expr, kind: pa.DataType, name: str) -> object:
        _check_constant(node, self.text, "VALUES")
        bound = Expressions(Scope(()), self.text, "VALUES").bind(node)
        self._check(bound, kind, name, node)
        if not isinstance(bound, Literal):
            bound = Literal(evaluate(bound, NOTHING, 1)[0].as_py(), bound.type)
        return self._read(bound, kind, name, node)

    def _check(self, bound: Expression, kind: pa.DataType, name: str, node: exp.Expr) -> None:
        if not castable(bound.type, kind):
            raise MillstreamError(
                f'column "{name}" is {a(kind)}, and this is {a(bound.type)}',
                place_of(node, self.text),
                hint=no_cast(bound, kind, node, self.text).hint,
            )

    def _read(self, value: Literal, kind: pa.DataType, name: str, node: exp.Expr) -> object:
        """A constant as the type of a column; an error if something of it would be lost."""
        read = coerce(value, kind)
        assert isinstance(read, Literal)
        if value.value is None or value.type == NULL:
            return None
        lost = kind == INTEGER and is_numeric(value.type) and read.value != value.value
        if read.value is None or lost:
            raise MillstreamError(
                f'{value} cannot be read as {a(kind)}, the type of column "{name}"',
                place_of(node, self.text),
            )
        return read.value
