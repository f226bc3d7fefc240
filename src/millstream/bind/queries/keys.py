"""GROUP BY: the grouping columns, written as columns, expressions, positions or aliases."""

from __future__ import annotations

from sqlglot import exp

from millstream.algebra.expressions import Cast, Column, Expression, Literal, walk
from millstream.algebra.types import INTEGER, NULL, STRING
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.queries.grouping import key_name
from millstream.bind.queries.items import Item, Outputs
from millstream.errors import MillstreamError
from millstream.lang import name_place_of, place_of, to_sql


def bind_keys(group: exp.Expr | None, items: list[Item], expressions: Expressions) -> Outputs:
    """The grouping columns; a number or an alias stands for an item of the select list."""
    keys: list[tuple[str, Expression]] = []
    for node in _listed(group):
        bound = _key(node, items, expressions)
        if not any(there == bound for _, there in keys):
            keys.append((_name(node, bound, {name for name, _ in keys}), bound))
    return tuple(keys)


def _name(node: exp.Expr, bound: Expression, taken: set[str]) -> str:
    """The name of a key: that of its column, if it is one of FROM, or its text."""
    hidden = isinstance(bound, Column) and bound.name.startswith("#")
    return key_name(node, Cast(bound, bound.type) if hidden else bound, taken)


def _listed(group: exp.Expr | None) -> list[exp.Expr]:
    """The items of GROUP BY, those in parentheses too."""
    if group is None:
        return []
    return [
        n
        for item in group.expressions
        for n in (item.expressions if isinstance(item, exp.Tuple) else [item])
    ]


def _key(node: exp.Expr, items: list[Item], expressions: Expressions) -> Expression:
    text, scope = expressions.text, expressions.scope
    if isinstance(node, exp.Column) and not node.table and scope.find(node.name) is None:
        for item in items:
            if item.name.lower() == node.name.lower():
                return _not_aggregate(item.value, node, text)
    if isinstance(node, exp.Anonymous) and node.name.lower() in ("rollup", "cube"):
        word = node.name.upper()
        raise MillstreamError(
            f"{word} is not supported yet",
            name_place_of(node, text),
            hint="Write one query for each level.",
        )
    bound = expressions.bind(node)
    if isinstance(bound, Literal) and bound.type == INTEGER:
        if bound.value is None or not 1 <= bound.value <= len(items):
            raise MillstreamError(
                f"position {bound.value} of the select list does not exist",
                place_of(node, text),
                hint=f"Write a number from 1 to {len(items)}, or a column.",
            )
        return _not_aggregate(items[bound.value - 1].value, node, text)
    return coerce(bound, STRING) if bound.type == NULL else bound


def _not_aggregate(bound: Expression, node: exp.Expr, text: str) -> Expression:
    if any(isinstance(e, Column) and e.name.startswith("#agg") for e in walk(bound)):
        raise MillstreamError(
            f"GROUP BY {to_sql(node)} stands for an aggregate",
            place_of(node, text),
            hint="Group by a column, and test the aggregate in HAVING.",
        )
    return bound
