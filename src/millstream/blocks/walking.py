"""Walking through routines: the expressions in expressions, in queries and in statements."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.algebra.expressions import Expression
from millstream.blocks.leaves import Among, Exists, Quantified, Scalar
from millstream.blocks.queries import Combined, Query, Select, Tabled, Values


def parts_of(value: Expression) -> Iterator[Expression]:
    """The expressions that stand directly in one, those of its subquery among them."""
    yield from value.children
    if isinstance(value, (Scalar, Exists, Among, Quantified)):
        yield from expressions_of(value.query)


def expressions_of(query: Query) -> Iterator[Expression]:
    """The outermost expressions of a query, and of the queries it reads in FROM."""
    match query:
        case Values(rows=rows, where=where):
            yield from (value for row in rows for value in row)
            yield from () if where is None else (where,)
        case Combined():
            yield from expressions_of(query.left)
            yield from expressions_of(query.right)
            yield from _some(query.limit, query.offset)
        case Select():
            yield from _of_sources(query)
            yield from (value for _, value in query.outputs)
            yield from _some(query.where, query.having, query.limit, query.offset)
            yield from query.keys or ()
            yield from (part.value for part in query.order)
            for call in query.calls:
                yield from call.arguments
                yield from _some(call.where)
                yield from (part.value for part in call.feeding)


def _of_sources(query: Select) -> Iterator[Expression]:
    for source in query.sources:
        yield from _some(source.on)
        if isinstance(source.of, Tabled):
            yield from source.of.arguments
        elif isinstance(source.of, (Select, Values, Combined)):
            yield from expressions_of(source.of)


def _some(*values: Expression | None) -> Iterator[Expression]:
    return (value for value in values if value is not None)
