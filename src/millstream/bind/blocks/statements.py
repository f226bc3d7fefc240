"""INSERT, UPDATE, DELETE and LOAD inside blocks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.expressions import Expression, Literal
from millstream.bind.blocks.assigning import assigned
from millstream.bind.blocks.body import Body, is_return_name
from millstream.bind.blocks.queries import Queries
from millstream.bind.blocks.scalars import Scalars
from millstream.bind.blocks.shapes import Outputs, over
from millstream.bind.names.scope import Member, Scope
from millstream.bind.tables.histories import loaded_rows
from millstream.blocks.leaves import Field
from millstream.blocks.queries import Columns, Query, Select, Source, Stored, Values
from millstream.blocks.routine import INWINDOW, RETURN, Delete, Insert, Statement, Update
from millstream.errors import MillstreamError, Place, closest
from millstream.lang import (
    BlockDelete,
    BlockInsert,
    BlockLoad,
    BlockStatement,
    BlockUpdate,
    place_of,
)


def bind_statement(statement: BlockStatement, body: Body) -> Statement:
    """One statement of a block; errors point at it if they know no better."""
    binder = _Binder(body)
    try:
        match statement:
            case BlockInsert():
                return binder.insert(statement)
            case BlockUpdate():
                return binder.update(statement)
            case BlockDelete():
                return binder.delete(statement)
            case BlockLoad():
                return binder.load(statement)
    except MillstreamError as error:
        raise error.at(statement.place) from None


def bind_rows(statement: BlockInsert, columns: Columns, what: str, body: Body) -> Query:
    """VALUES or a query, as rows of these columns; `what` they are rows of, for messages."""
    return _Binder(body).rows(statement, columns, what)


@dataclass
class _Binder:
    body: Body

    def __post_init__(self) -> None:
        self.queries = Queries(self.body)

    @property
    def text(self) -> str:
        return self.body.shared.text

    def insert(self, statement: BlockInsert) -> Insert:
        if is_return_name(statement.name):
            return Insert(RETURN, self.rows(statement, self.body.returns, str(self.body)))
        name, columns, depth = self._target(statement.name, statement.name_place, "INSERT")
        return Insert(name, self.rows(statement, columns, f'table "{name}"'), depth)

    def update(self, statement: BlockUpdate) -> Update:
        name, columns, depth = self._target(statement.name, statement.name_place, "UPDATE")
        label, scalars = self._row(name, columns, "SET")
        values: dict[str, Expression] = {}
        for (written, node), place in zip(statement.values, statement.value_places):
            column, kind = self._column(written, columns, f'table "{name}"', place)
            if column in values:
                raise MillstreamError(
                    f'column "{column}" is set twice', place, hint="Leave one of them out."
                )
            bound = scalars.bind(node)
            what = f'column "{column}"'
            values[column] = assigned(bound, kind, what, node, self.body.shared)
        where = self._condition(statement.where, scalars)
        return Update(name, label, tuple(values.items()), where, depth)

    def delete(self, statement: BlockDelete) -> Delete:
        name, columns, depth = self._target(statement.name, statement.name_place, "DELETE")
        label, scalars = self._row(name, columns, "WHERE")
        return Delete(name, label, self._condition(statement.where, scalars), depth)

    def load(self, statement: BlockLoad) -> Insert:
        """The rows of a file as they are now, each time the statement runs."""
        name, columns, depth = self._target(statement.name, statement.name_place, "LOAD")
        rows = loaded_rows(statement, name, pa.schema(list(columns)), self.body.shared.files)
        label = next(self.queries.labels)
        source = Source(label, Stored(statement.source, _digest(rows), rows), columns)
        outputs = tuple((n, Field(label, n, kind)) for n, kind in columns)
        return Insert(name, Select((source,), outputs), depth)

    def rows(self, statement: BlockInsert, columns: Columns, what: str) -> Query:
        """The rows of an INSERT, with all columns of the table in their order."""
        given = self._given(statement, columns, what)
        if statement.query is None:
            return self._values(statement, columns, given, what)
        query = self.queries.query(statement.query)
        if len(query.columns) != len(given):
            place = place_of(statement.query, self.text) or statement.place
            raise self._misshapen(len(query.columns), given, what, place)
        node = statement.query

        def make(values: list[Expression]) -> Outputs:
            there = dict(zip(given, zip(values, _written(node, len(given)))))
            return tuple(
                (name, self._value(*there[name], name, kind, what))
                if name in there
                else (name, Literal(None, kind))
                for name, kind in columns
            )

        return over(query, self.queries.labels, make)

    def _values(
        self, statement: BlockInsert, columns: Columns, given: list[str], what: str
    ) -> Values:
        scalars = self.queries.scalars(Scope(()), {}, "VALUES")
        rows = []
        for written, place in zip(statement.rows, statement.row_places):
            if len(written) != len(given):
                raise self._misshapen(len(written), given, what, place)
            nodes = dict(zip(given, written))
            rows.append(
                tuple(
                    self._value(scalars.bind(nodes[name]), nodes[name], name, kind, what)
                    if name in nodes
                    else Literal(None, kind)
                    for name, kind in columns
                )
            )
        return Values(columns, tuple(rows), self._condition(statement.where, scalars))

    def _value(
        self, value: Expression, node: exp.Expr, name: str, kind: pa.DataType, what: str
    ) -> Expression:
        said = f'column "{name}"'
        if what == str(self.body) and len(self.body.returns) == 1:
            said = f"what {self.body} returns"
        return assigned(value, kind, said, node, self.body.shared)

    def _given(self, statement: BlockInsert, columns: Columns, what: str) -> list[str]:
        """The columns that the rows have values for."""
        if statement.columns is None:
            return [name for name, _ in columns]
        found: list[str] = []
        for written in statement.columns:
            name, _ = self._column(written, columns, what, statement.columns_place)
            if name in found:
                raise MillstreamError(
                    f'column "{name}" stands twice',
                    statement.columns_place,
                    hint="Leave one of them out.",
                )
            found.append(name)
        return found

    def _misshapen(self, count: int, given: list[str], what: str, place: Place) -> MillstreamError:
        values = "1 value" if count == 1 else f"{count} values"
        wanted = "1 column" if len(given) == 1 else f"{len(given)} columns"
        return MillstreamError(
            f"a row of {what} has {wanted}, and here are {values}"
            if count != 1
            else f"a row of {what} has {wanted}, and here is {values}",
            place,
            hint=f"Give values for {', '.join(given)}.",
        )

    def _target(self, name: str, place: Place, word: str) -> tuple[str, Columns, int]:
        """The local table that a statement changes."""
        if is_return_name(name):
            raise MillstreamError(
                f"{word} cannot change RETURN: rows that were returned are gone",
                place,
                hint="Keep them in a local table, and INSERT INTO RETURN when they are right.",
            )
        if (found := self.body.table(name)) is not None:
            local, columns = found
            if local.name == INWINDOW and word != "DELETE":
                raise MillstreamError(
                    f"{word} cannot change inwindow, which holds the tuples of the window",
                    place,
                    hint="Tuples may be deleted from it; keep values of your own in a local table.",
                )
            return local.name, columns, local.depth
        if name.lower() == INWINDOW:
            raise self.body.no_window().at(place)
        if name.lower() in self.body.shared.catalog.entries:
            raise MillstreamError(
                f'"{name}" is no local table, and blocks cannot change others',
                place,
                hint="Return the rows, and write them where the routine is called.",
            )
        raise self.body.no_table(name).at(place)

    def _row(self, name: str, columns: Columns, clause: str) -> tuple[int, Scalars]:
        """What binds expressions over the rows of one table."""
        label = next(self.queries.labels)
        listed = tuple((n, f"#{label}.{n}", kind) for n, kind in columns)
        fields: dict[str, Expression] = {
            f"#{label}.{n}": Field(label, n, kind) for n, kind in columns
        }
        scope = Scope((Member(name, listed),))
        return label, self.queries.scalars(scope, fields, clause)

    def _condition(self, node: exp.Expr | None, scalars: Scalars) -> Expression | None:
        return None if node is None else scalars.condition(node, "WHERE")

    def _column(
        self, written: str, columns: Columns, what: str, place: Place | None
    ) -> tuple[str, pa.DataType]:
        for name, kind in columns:
            if name.lower() == written.lower():
                return name, kind
        names = [name for name, _ in columns]
        near = closest(written, names)
        raise MillstreamError(
            f'column "{written}" does not exist in {what}',
            place,
            hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(names)}.",
        )


def _written(node: exp.Expr, count: int) -> list[exp.Expr]:
    """What the columns of a query were written as, or the query for each."""
    while isinstance(node, (exp.Subquery, exp.SetOperation)):
        node = node.this
    parts = list(node.expressions) if isinstance(node, exp.Select) else []
    return parts if len(parts) == count else [node] * count


def _digest(rows: pa.RecordBatch) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return hashlib.sha256(sink.getvalue()).hexdigest()[:16]
