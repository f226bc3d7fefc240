"""Looking at syntax trees: conjuncts, subqueries, aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate
from millstream.blocks.versions import Versions
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


Find = Callable[[str], Aggregate | None]
"""The aggregate that people call so, if there is one."""


def aggregate_of(node: exp.Expr, find: Find) -> Aggregate | None:
    """The aggregate that a node calls, if it does."""
    return find(node.name) if isinstance(node, exp.Anonymous) else None


def aggregates_of(select: exp.Select, find: Find) -> Iterator[Aggregate]:
    """The aggregates in the select list, in HAVING and in ORDER BY, outside of subqueries."""
    clauses = [*select.expressions, select.args.get("having"), select.args.get("order")]
    for part in (part for clause in clauses if clause is not None for part in own_parts(clause)):
        found = aggregate_of(part, find)
        if found is not None:
            yield found


def has_aggregate(select: exp.Select, find: Find) -> bool:
    return any(True for _ in aggregates_of(select, find))


def calls_own(select: exp.Select, routines: Callable[[str], Versions | None]) -> bool:
    """True when an aggregate of one's own is called in the select list, HAVING or ORDER BY."""
    clauses = [*select.expressions, select.args.get("having"), select.args.get("order")]
    parts = (part for clause in clauses if clause is not None for part in own_parts(clause))
    names = (part.name for part in parts if isinstance(part, exp.Anonymous))
    found = map(routines, names)
    return any(versions is not None and versions.is_aggregate for versions in found)


def has_over(select: exp.Select) -> bool:
    """True when a call in the select list or in ORDER BY has a window of its own."""
    clauses = [*select.expressions, select.args.get("order")]
    parts = (part for clause in clauses if clause is not None for part in own_parts(clause))
    return any(isinstance(part, exp.Window) for part in parts)


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
