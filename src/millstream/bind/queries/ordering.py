"""ORDER BY, LIMIT and OFFSET: the first rows of a relation."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.algebra.expressions import Column, Expression, Literal
from millstream.algebra.node import Node
from millstream.algebra.types import INTEGER
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.scope import Scope
from millstream.bind.names.words import find_word
from millstream.bind.queries.items import Item
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import place_of
from millstream.operators import Project, TopK


@dataclass(frozen=True)
class Key:
    """What rows are ordered by: an output by its name, or a value of its own under that name."""

    name: str
    descending: bool
    nulls_first: bool
    value: Expression | None
    node: exp.Expr


@dataclass(frozen=True)
class Ordering:
    """ORDER BY … LIMIT … OFFSET of one query. Nothing of it is left when it has no effect."""

    keys: tuple[Key, ...]
    limit: int | None
    offset: int

    @property
    def hidden(self) -> tuple[Key, ...]:
        """The keys that are no outputs."""
        return tuple(key for key in self.keys if key.value is not None)

    def apply(self, plan: Node, partition: tuple[str, ...]) -> Node:
        """The first rows of every partition, without the columns that were there to order by."""
        order = tuple((key.name, key.descending, key.nulls_first) for key in self.keys)
        top = TopK(order, self.limit, self.offset, partition, plan)
        hidden = {key.name for key in self.hidden}
        if not hidden:
            return top
        kept = [(f.name, Column(f.name, f.type)) for f in plan.schema if f.name not in hidden]
        return Project(tuple(kept), top)


def bind_ordering(
    query: exp.Expr,
    items: list[Item],
    expressions: Expressions,
    notices: list[Notice],
    is_read_once: bool = False,
) -> Ordering | None:
    """What ORDER BY, LIMIT and OFFSET ask for; None when they change nothing. The answer of a query
    that is read once has an order, and LIMIT may stand alone there."""
    order, limit, offset = (query.args.get(word) for word in ("order", "limit", "offset"))
    if order is None and limit is None and offset is None:
        return None
    text = expressions.text
    keys = [_key(node, at, items, expressions) for at, node in enumerate(_ordered(order))]
    count = None if limit is None else _number(limit, "LIMIT", text)
    skipped = 0 if offset is None else _number(offset, "OFFSET", text)
    if is_read_once:
        return Ordering(tuple(keys), count, skipped)
    if order is None:
        word = "OFFSET" if limit is None else "LIMIT"
        raise MillstreamError(
            f"{word} needs ORDER BY: a relation has no order of its own",
            clause_place(query, word, text),
            hint="Add ORDER BY before it, or use a window such as [Rows 10] to keep the last "
            "elements.",
        )
    if count is None and not skipped:
        notices.append(
            Notice(
                "ORDER BY without LIMIT has no effect: relations have no order, and streams come "
                "in the order of time",
                "Leave it out, or add LIMIT.",
            )
        )
        return None
    return Ordering(tuple(keys), count, skipped)


def clause_place(query: exp.Expr, word: str, text: str) -> Place | None:
    """A clause with the word it begins with."""
    node = query.args.get(word.split()[0].lower())
    inside = None if node is None else place_of(node, text)
    if inside is None:
        return None
    found = find_word(word, text, inside.start, backwards=True)
    return Place(text, found.start, inside.end) if found else inside


def _ordered(order: exp.Expr | None) -> list[exp.Expr]:
    return [] if order is None else order.expressions


def _key(node: exp.Expr, at: int, items: list[Item], expressions: Expressions) -> Key:
    text, this = expressions.text, node.this if isinstance(node, exp.Ordered) else node
    descending = bool(node.args.get("desc"))
    nulls_first = bool(node.args.get("nulls_first"))
    if isinstance(this, exp.Column) and not this.table:
        for item in items:
            if item.name.lower() == this.name.lower():
                return Key(item.name, descending, nulls_first, None, this)
    bound = expressions.bind(this)
    if isinstance(bound, Literal) and bound.type == INTEGER:
        if bound.value is None or not 1 <= bound.value <= len(items):
            raise MillstreamError(
                f"position {bound.value} of the select list does not exist",
                place_of(this, text),
                hint=f"Write a number from 1 to {len(items)}, or a column.",
            )
        return Key(items[bound.value - 1].name, descending, nulls_first, None, this)
    for item in items:
        if item.value == bound:
            return Key(item.name, descending, nulls_first, None, this)
    return Key(f"#order{at}", descending, nulls_first, bound, this)


def _number(clause: exp.Expr, word: str, text: str) -> int:
    node = clause.expression
    try:
        bound: Expression | None = Expressions(Scope(()), text, word).bind(node)
    except MillstreamError:
        bound = None
    if isinstance(bound, Literal) and isinstance(bound.value, int) and bound.value >= 0:
        return bound.value
    raise MillstreamError(
        f"{word} needs a whole number that is not negative",
        place_of(node, text),
        hint=f"Write for example {word} 10.",
    )
