"""Queries: from the syntax tree to a plan, with the defaults of CQL and a report of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.algebra.expressions import Column, Expression, Literal, conjunction
from millstream.algebra.node import Node
from millstream.algebra.types import INTEGER, STRING
from millstream.bind.expressions import Expressions
from millstream.bind.grouping import Grouping, after_grouping, key_name
from millstream.bind.scope import Scope
from millstream.bind.sources import Sources
from millstream.catalog import Catalog, View
from millstream.errors import MillstreamError, Notice
from millstream.lang import ToStream, deep_stack, place_of, to_sql
from millstream.operators import Dstream, Filter, Istream, Project, Rstream

TO_STREAM: dict[str, Callable[[Node], Node]] = {
    "istream": Istream, "dstream": Dstream, "rstream": Rstream,
}
Outputs = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class Bound:
    """A bound query: its plan, the form its author asked for, and the defaults that were used."""

    plan: Node
    form: str | None
    notices: tuple[Notice, ...]


def bind_query(query: exp.Expr, catalog: Catalog, text: str) -> Bound:
    """The plan of a query that stands by itself, in CREATE … AS or in EXPLAIN."""
    with deep_stack():
        binder = _Binder(catalog, text)
        plan = binder.query(query)
        form = _form(query)
        if form is not None and plan.is_stream:
            raise MillstreamError(
                f"{form.upper()} is for relations, and this query gives a stream",
                place_of(query, text), hint=f"Leave out {form.upper()} or the stream operator.",
            )
        return Bound(plan, form, tuple(dict.fromkeys(binder.notices)))


@dataclass
class _Binder:
    catalog: Catalog
    text: str
    notices: list[Notice] = field(default_factory=list)

    def query(self, node: exp.Expr) -> Node:
        """The plan of a query, before the defaults for outermost queries."""
        match node:
            case ToStream():
                inner = self.query(node.this)
                if inner.is_stream:
                    raise self._error(f"{node.operator} of a stream: it is a stream already", node,
                                      "Leave out one of the two operators.")
                return TO_STREAM[node.operator](inner)
            case exp.Subquery():
                return self.query(node.this)
            case exp.Select():
                return self._select(node)
            case exp.SetOperation():
                raise self._error(f"{node.key.upper()} is not supported yet", node,
                                  "Register the two queries one by one.")
        raise self._error(f"{node.key.upper()} is not a query", node, "A query starts with SELECT.")

    def _error(self, message: str, node: exp.Expr, hint: str | None = None) -> MillstreamError:
        return MillstreamError(message, place_of(node, self.text), hint=hint)

    def _select(self, select: exp.Select) -> Node:
        self._refuse(select)
        outer, self.catalog = self.catalog, self._with_ctes(select)
        try:
            plan = self._grouped_or_not(select)
        finally:
            self.catalog = outer
        operator = select.args.get("to_stream")
        return TO_STREAM[operator](plan) if operator else plan

    def _refuse(self, select: exp.Select) -> None:
        for clause, word in (("distinct", "DISTINCT"), ("order", "ORDER BY"), ("limit", "LIMIT"),
                             ("offset", "OFFSET"), ("windows", "WINDOW"), ("qualify", "QUALIFY")):
            if (found := select.args.get(clause)) is not None:
                hint = "Results are ordered by time already." if clause == "order" else None
                raise self._error(f"{word} is not supported yet", found
                                  if place_of(found, self.text) else select, hint)

    def _with_ctes(self, select: exp.Select) -> Catalog:
        clause = select.args.get("with_") or select.args.get("with")
        if clause is None:
            return self.catalog
        catalog = Catalog(dict(self.catalog.entries))
        outer, self.catalog = self.catalog, catalog
        for cte in clause.expressions:
            plan = self.query(cte.this)
            catalog.entries[cte.alias.lower()] = View(cte.alias, plan, to_sql(cte.this))
        self.catalog = outer
        return catalog

    def _grouped_or_not(self, select: exp.Select) -> Node:
        stamped = _mentions(select, ("first", "last", "first_value", "last_value"))
        sources = Sources(self.catalog, self.text, self.query, stamped, self.notices)
        plan, scope, conditions = sources.bind(select)
        where = select.args.get("where")
        if where is not None:
            conditions.append(Expressions(scope, self.text).condition(where.this, "WHERE"))
        if conditions:
            plan = Filter(conjunction(conditions), plan)
        expressions = Expressions(scope, self.text)
        grouping = Grouping(expressions)
        expressions.aggregate = grouping.aggregate
        items = self._items(select, expressions, scope)
        having = select.args.get("having")
        condition = expressions.condition(having.this, "HAVING") if having is not None else None
        group = select.args.get("group")
        if group is None and not grouping.calls and condition is None:
            return Project(_unique([(name, bound) for name, bound, _ in items]), plan)
        return self._grouped(plan, grouping, group, items, condition, having, scope)

    def _grouped(
        self, plan: Node, grouping: Grouping, group: exp.Expr | None,
        items: list[tuple[str, Expression, exp.Expr]], condition: Expression | None,
        having: exp.Expr | None, scope: Scope,
    ) -> Node:
        keys = self._keys(group, items, scope)
        result: Node = grouping.plan(plan, keys)
        if condition is not None and having is not None:
            result = Filter(after_grouping(condition, keys, having.this, self.text), result)
        outputs = [(name, after_grouping(bound, keys, node, self.text)) for name, bound, node in items]
        return Project(_unique(outputs), result)

    def _keys(
        self, group: exp.Expr | None, items: list[tuple[str, Expression, exp.Expr]], scope: Scope
    ) -> Outputs:
        """The grouping columns; a number or a select alias stands for an item of the select list."""
        keys: list[tuple[str, Expression]] = []
        for node in group.expressions if group is not None else ():
            bound = self._key(node, items, scope)
            if not any(there == bound for _, there in keys):
                keys.append((key_name(node, bound, {name for name, _ in keys}), bound))
        return tuple(keys)

    def _key(
        self, node: exp.Expr, items: list[tuple[str, Expression, exp.Expr]], scope: Scope
    ) -> Expression:
        if isinstance(node, exp.Column) and not node.table and scope.find(node.name) is None:
            for name, bound, _ in items:
                if name.lower() == node.name.lower():
                    return self._not_aggregate(bound, node)
        bound = Expressions(scope, self.text).bind(node)
        if isinstance(bound, Literal) and bound.type == INTEGER:
            if not 1 <= bound.value <= len(items):
                raise self._error(f"GROUP BY {bound.value}: the select list has {len(items)} items",
                                  node, "Count from 1.")
            return self._not_aggregate(items[bound.value - 1][1], node)
        return bound

    def _not_aggregate(self, bound: Expression, node: exp.Expr) -> Expression:
        from millstream.algebra.expressions import walk

        if any(isinstance(e, Column) and e.name.startswith("#agg") for e in walk(bound)):
            raise self._error("GROUP BY cannot name an aggregate", node, "Group by a column.")
        return bound

    def _items(
        self, select: exp.Select, expressions: Expressions, scope: Scope
    ) -> list[tuple[str, Expression, exp.Expr]]:
        """The select list: name, expression and text of every item, with * written out."""
        items: list[tuple[str, Expression, exp.Expr]] = []
        for node in select.expressions:
            if isinstance(node, exp.Star):
                items += [(name, column, node) for name, column in scope.all_columns()]
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                items += [(n, c, node) for n, c in self._all_of(node, scope)]
            else:
                bound = expressions.bind(node.this if isinstance(node, exp.Alias) else node)
                if str(bound.type) == "null":
                    bound = Literal(None, STRING)
                items.append((_name(node), bound, node))
        return items

    def _all_of(self, node: exp.Column, scope: Scope) -> list[tuple[str, Column]]:
        try:
            return scope.all_columns(node.table)
        except MillstreamError as error:
            raise error.at(place_of(node, self.text)) from None


def _form(query: exp.Expr) -> str | None:
    while isinstance(query, exp.Subquery):
        query = query.this
    return query.args.get("form")


def _name(node: exp.Expr) -> str:
    """The name of a select item: its alias, its column's name, or its text."""
    if isinstance(node, exp.Alias):
        return node.alias
    return node.name if isinstance(node, exp.Column) else to_sql(node)


def _unique(outputs: list[tuple[str, Expression]]) -> Outputs:
    """The outputs under different names: the second `price` becomes `price_2`."""
    taken: set[str] = set()
    result = []
    for name, expression in outputs:
        new, number = name, 1
        while new.lower() in taken:
            number += 1
            new = f"{name}_{number}"
        taken.add(new.lower())
        result.append((new, expression))
    return tuple(result)


def _mentions(select: exp.Select, names: tuple[str, ...]) -> bool:
    clauses = [*select.expressions, select.args.get("having")]
    return any(
        isinstance(n, exp.Anonymous) and str(n.this).lower() in names
        for clause in clauses if clause is not None
        for n in clause.walk()
    )
