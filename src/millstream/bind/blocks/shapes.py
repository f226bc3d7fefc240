"""The shape of bound queries: their columns and types, and whether they give one row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate
from millstream.algebra.expressions import Expression, Literal
from millstream.bind.expressions.constants import coerce
from millstream.blocks.leaves import Field
from millstream.blocks.queries import Columns, Query, Select, Source, Values

Outputs = tuple[tuple[str, Expression], ...]


def over(
    query: Query, labels: Iterator[int], make: Callable[[list[Expression]], Outputs]
) -> Select:
    """The rows of a query with other columns, which are made of those that it has."""
    if isinstance(query, Select) and not query.distinct:
        return replace(query, outputs=make([value for _, value in query.outputs]))
    label = next(labels)
    fields: list[Expression] = [Field(label, name, kind) for name, kind in query.columns]
    return Select((Source(label, query, query.columns),), make(fields))


def retyped(query: Query, kinds: tuple[pa.DataType, ...], labels: Iterator[int]) -> Query:
    """The query with columns of these types."""
    columns: Columns = query.columns
    if tuple(kind for _, kind in columns) == kinds:
        return query
    names = [name for name, _ in columns]

    def make(values: list[Expression]) -> Outputs:
        return tuple((n, coerce(v, kind)) for n, v, kind in zip(names, values, kinds))

    return over(query, labels, make)


def gives_one_row(query: Query) -> bool:
    """Whether the form of a query promises that it gives no second row."""
    if isinstance(query, Values):
        return len(query.rows) == 1
    if isinstance(query.limit, Literal) and query.limit.value <= 1:
        return True
    if not isinstance(query, Select):
        return False
    if query.keys == ():
        return all(isinstance(call.function, Aggregate) for call in query.calls)
    return not query.sources
