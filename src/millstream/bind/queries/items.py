"""The select list: names, expressions, and * written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from millstream.algebra.expressions import Column, Expression
from millstream.algebra.types import NULL, STRING
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.scope import Scope
from millstream.bind.names.words import check_name
from millstream.errors import MillstreamError
from millstream.lang import name_place_of, place_of, to_sql

Outputs = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class Item:
    """One column of the answer: its name, its value over the columns of FROM, and its text."""

    name: str
    value: Expression
    node: exp.Expr


def bind_items(select: exp.Select, expressions: Expressions) -> list[Item]:
    """The items of the select list, under different names: the second `price` is `price_2`."""
    text, scope = expressions.text, expressions.scope
    items: list[Item] = []
    for node in select.expressions:
        if isinstance(node, exp.Star):
            items += [Item(name, column, node) for name, column in _all(scope, node, text)]
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            items += [Item(name, column, node) for name, column in _all_of(scope, node, text)]
        elif (columns := _of_call(expressions, node)) is not None:
            items += [Item(name, value, node) for name, value in columns]
        else:
            bound = expressions.bind(node.this if isinstance(node, exp.Alias) else node)
            bound = coerce(bound, STRING) if bound.type == NULL else bound
            if isinstance(node, exp.Alias):
                check_name(node.alias, "column", name_place_of(node, text))
            items.append(Item(_name(node), bound, node))
    return _unique(items)


def _of_call(expressions: Expressions, node: exp.Expr) -> Sequence[tuple[str, Expression]] | None:
    """The columns of an aggregate that gives several and stands alone."""
    try:
        return None if expressions.owns is None else expressions.owns.items(node)
    except MillstreamError as error:
        raise error.at(place_of(node, expressions.text)) from None


def aliases_of(items: list[Item]) -> dict[str, Expression]:
    """The items that have an alias, by its lower case; not those of one that stands twice."""
    named = [(i.node.alias.lower(), i.value) for i in items if isinstance(i.node, exp.Alias)]
    names = [name for name, _ in named]
    return {name: value for name, value in named if names.count(name) == 1}


def _all(scope: Scope, node: exp.Expr, text: str) -> list[tuple[str, Column]]:
    if not scope.members:
        raise MillstreamError(
            "* needs FROM", place_of(node, text), hint="Name a stream: SELECT * FROM bids."
        )
    return scope.all_columns()


def _all_of(scope: Scope, node: exp.Column, text: str) -> list[tuple[str, Column]]:
    try:
        return scope.all_columns(node.table)
    except MillstreamError as error:
        raise error.at(place_of(node.args["table"], text)) from None


def _name(node: exp.Expr) -> str:
    """The name of a select item: its alias, its column's name, or its text. Parentheses around an
    item are no part of it: in `DISTINCT(item)`, too."""
    if isinstance(node, exp.Alias):
        return node.alias
    node = node.unnest()
    return node.name if isinstance(node, exp.Column) else to_sql(node)


def _unique(items: list[Item]) -> list[Item]:
    taken: set[str] = set()
    result = []
    for item in items:
        new, number = item.name, 1
        while new.lower() in taken:
            number += 1
            new = f"{item.name}_{number}"
        taken.add(new.lower())
        result.append(Item(new, item.value, item.node))
    return result
