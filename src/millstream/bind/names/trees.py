"""Looking at syntax trees: conjuncts, subqueries, aggregates."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millstream.aggregates.builtin import ALIASES, NAMES
from millstream.lang import ToStream


def and_parts(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that a chain of ANDs puts together, without the parentheses around them."""
    parts, stack = [], [node]
    while stack:
        part = stack.pop()
        while isinstance(part, exp.Paren):
            part = part.this
        if isinstance(part, exp.And):
            stack += [part.expression, part.this]
        else:
            parts.append(part)
    return parts


def is_query(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Select, exp.SetOperation, exp.Subquery, ToStream))


def own_parts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The node and what is in it; subqueries are given, but not entered."""
    yield from node.walk(prune=is_query)


def has_query(node: exp.Expr) -> bool:
    """True when a subquery stands in the expression."""
    return any(is_query(part) for part in own_parts(node))


def is_aggregate(node: exp.Expr) -> bool:
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    return ALIASES.get(name, name) in NAMES


def has_aggregate(select: exp.Select) -> bool:
    """True when an aggregate stands in the select list, in HAVING or in ORDER BY."""
    clauses = [*select.expressions, select.args.get("having"), select.args.get("order")]
    return any(is_aggregate(p) for c in clauses if c is not None for p in own_parts(c))


def mentions(clause: exp.Expr, names: tuple[str, ...]) -> bool:
    """True when one of the functions is called, outside of subqueries."""
    return any(
        isinstance(part, exp.Anonymous) and str(part.this).lower() in names
        for part in own_parts(clause)
    )


def stands_around(column: exp.Column) -> bool:
    """True when the alias before a column is that of a query further out."""
    own = column.find_ancestor(exp.Select)
    node = own.parent if own is not None else None
    while node is not None:
        if isinstance(node, exp.Select) and column.table.lower() in _aliases(node, ()):
            return True
        node = node.parent
    return False


def only_tested(column: exp.Column) -> str:
    """SEMI or ANTI when the alias before a column stands in such a join, which gives no columns."""
    select = column.find_ancestor(exp.Select)
    if select is None:
        return ""
    words = ("SEMI", "ANTI")
    return next((w for w in words if column.table.lower() in _aliases(select, (w,))), "")


def _aliases(select: exp.Select, kinds: tuple[str, ...]) -> set[str]:
    """The names in FROM, or those in joins of the given kinds."""
    clause = select.args.get("from_")
    entries = [clause] if clause is not None and not kinds else []
    joins = select.args.get("joins") or ()
    entries += [join for join in joins if not kinds or join.kind in kinds]
    return {entry.this.alias_or_name.lower() for entry in entries}
