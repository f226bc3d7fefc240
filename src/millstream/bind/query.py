"""Queries: from the syntax tree to a plan, with the defaults of CQL and a report of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.algebra.expressions import Column, Expression, Literal, conjunction, walk
from millstream.algebra.node import Node
from millstream.algebra.types import INTEGER, NULL, STRING
from millstream.bind.constants import coerce
from millstream.bind.expressions import Expressions
from millstream.bind.grouping import Grouping, after_grouping, key_name
from millstream.bind.scope import Scope
from millstream.bind.sources import Sources
from millstream.bind.words import check_name, find_word
from millstream.catalog import Catalog, View
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import ToStream, deep_stack, name_place_of, place_of, to_sql
from millstream.operators import Dstream, Filter, Istream, Project, Rstream

TO_STREAM: dict[str, Callable[[Node], Node]] = {
    "istream": Istream,
    "dstream": Dstream,
    "rstream": Rstream,
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
        form = _form(query)
        plan = binder.query(query, outermost=True)
        return Bound(plan, form, tuple(dict.fromkeys(binder.notices)))


@dataclass
class _Binder:
    catalog: Catalog
    text: str
    notices: list[Notice] = field(default_factory=list)

    def query(self, node: exp.Expr, outermost: bool = False) -> Node:
        """The plan of a query, before the defaults for outermost queries."""
        form = node.args.get("form")
        if form and not outermost:
            raise MillstreamError(
                f"{form.upper()} is for outermost queries",
                self._word(node, form),
                hint=f"Leave {form.upper()} out here.",
            )
        match node:
            case ToStream():
                inner = self.query(node.this)
                if inner.is_stream:
                    word = node.operator.capitalize()
                    raise MillstreamError(
                        f"{word} needs a relation, and the query inside gives a stream",
                        self._word(node, word),
                        hint="Leave out one of the two operators.",
                    )
                return TO_STREAM[node.operator](inner)
            case exp.Subquery() if node.args.get("joins"):
                raise self._error(
                    "a join in parentheses is not supported yet",
                    node,
                    "Write the joins one after the other in FROM.",
                )
            case exp.Subquery():
                return self.query(node.this, outermost)
            case exp.Select():
                return self._select(node)
            case exp.SetOperation():
                raise self._set_operation(node)
        raise self._error(
            "a join in parentheses is not supported yet",
            node,
            "Write the joins one after the other in FROM.",
        )

    def _set_operation(self, node: exp.SetOperation) -> MillstreamError:
        word = node.key.upper()
        left = place_of(node.this, self.text)
        place = find_word(word, self.text, left.end if left else 0)
        return MillstreamError(
            f"{word} is not supported yet", place, hint="Register the two queries one by one."
        )

    def _word(self, node: exp.Expr, word: str) -> Place | None:
        """Where a word of a query stands, the first time after its beginning."""
        place = place_of(node, self.text)
        return find_word(word, self.text, place.start) if place else None

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
        """Clauses the grammar has and the system does not, with a way out where there is one."""
        if select.args.get("distinct") is not None:
            raise MillstreamError(
                "DISTINCT is not supported yet",
                self._word(select, "DISTINCT"),
                hint="Group by all columns: SELECT a, b FROM … GROUP BY a, b.",
            )
        hints = {
            "ORDER BY": "Leave it out: streams come in the order of time.",
            "LIMIT": "Use a window such as [Rows 10] to keep the last elements.",
            "OFFSET": "Leave it out.",
        }
        for clause, hint in hints.items():
            node = select.args.get(clause.split()[0].lower())
            if node is not None:
                inside = place_of(node, self.text)
                words = find_word(clause, self.text, inside.start if inside else 0, backwards=True)
                end = inside.end if inside else words.end if words else 0
                place = Place(self.text, words.start, end) if words else inside
                raise MillstreamError(f"{clause} is not supported yet", place, hint=hint)

    def _with_ctes(self, select: exp.Select) -> Catalog:
        clause = select.args.get("with_") or select.args.get("with")
        if clause is None:
            return self.catalog
        catalog = Catalog(dict(self.catalog.entries))
        outer, self.catalog = self.catalog, catalog
        for at, cte in enumerate(clause.expressions):
            self._check_new(cte, [c.alias.lower() for c in clause.expressions[:at]])
            plan = self.query(cte.this)
            if columns := cte.args["alias"].args.get("columns"):
                place = Place.covering(*(place_of(c, self.text) for c in columns))
                plan = renamed(plan, tuple(c.name for c in columns), f'WITH "{cte.alias}"', place)
            catalog.entries[cte.alias.lower()] = View(cte.alias, plan, to_sql(cte.this))
        self.catalog = outer
        return catalog

    def _check_new(self, cte: exp.Expr, taken: list[str]) -> None:
        if cte.alias.lower() in taken:
            raise MillstreamError(
                f'the name "{cte.alias}" stands twice in WITH',
                name_place_of(cte.args["alias"], self.text),
                hint="Give one of them another name.",
            )

    def _grouped_or_not(self, select: exp.Select) -> Node:
        stamped = _mentions(select, ("first", "last", "first_value", "last_value"))
        sources = Sources(self.catalog, self.text, self.query, stamped, self.notices)
        plan, scope, conditions = sources.bind(select)
        where = select.args.get("where")
        if where is not None:
            conditions.append(Expressions(scope, self.text).condition(where.this, "WHERE"))
        if conditions:
            plan = Filter(conjunction(conditions), plan)
        expressions = Expressions(scope, self.text, "the select list")
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
        self,
        plan: Node,
        grouping: Grouping,
        group: exp.Expr | None,
        items: list[tuple[str, Expression, exp.Expr]],
        condition: Expression | None,
        having: exp.Expr | None,
        scope: Scope,
    ) -> Node:
        keys = self._keys(group, items, scope)
        result: Node = grouping.plan(plan, keys)
        if condition is not None and having is not None:
            result = Filter(after_grouping(condition, keys, having.this, self.text), result)
        outputs = [
            (name, after_grouping(bound, keys, node, self.text)) for name, bound, node in items
        ]
        return Project(_unique(outputs), result)

    def _keys(
        self, group: exp.Expr | None, items: list[tuple[str, Expression, exp.Expr]], scope: Scope
    ) -> Outputs:
        """The grouping columns; a number or an alias stands for an item of the select list."""
        keys: list[tuple[str, Expression]] = []
        for node in _listed(group):
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
        if isinstance(node, exp.Anonymous) and str(node.this).lower() in ("rollup", "cube"):
            word = str(node.this).upper()
            raise MillstreamError(
                f"{word} is not supported yet",
                name_place_of(node, self.text),
                hint="Write one query for each level.",
            )
        bound = Expressions(scope, self.text, "GROUP BY").bind(node)
        if isinstance(bound, Literal) and bound.type == INTEGER:
            if bound.value is None or not 1 <= bound.value <= len(items):
                raise self._error(
                    f"position {bound.value} of the select list does not exist",
                    node,
                    f"Write a number from 1 to {len(items)}, or a column.",
                )
            return self._not_aggregate(items[bound.value - 1][1], node)
        return coerce(bound, STRING) if bound.type == NULL else bound

    def _not_aggregate(self, bound: Expression, node: exp.Expr) -> Expression:
        if any(isinstance(e, Column) and e.name.startswith("#agg") for e in walk(bound)):
            raise self._error(
                f"GROUP BY {to_sql(node)} stands for an aggregate",
                node,
                "Group by a column, and test the aggregate in HAVING.",
            )
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
                bound = coerce(bound, STRING) if bound.type == NULL else bound
                self._check_alias(node)
                items.append((_name(node), bound, node))
        return items

    def _check_alias(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Alias):
            check_name(node.alias, "column", name_place_of(node, self.text))

    def _all_of(self, node: exp.Column, scope: Scope) -> list[tuple[str, Column]]:
        try:
            return scope.all_columns(node.table)
        except MillstreamError as error:
            raise error.at(place_of(node.args["table"], self.text)) from None


def renamed(plan: Node, names: tuple[str, ...], what: str, place: Place | None) -> Node:
    """The columns of a query under other names."""
    for at, name in enumerate(names):
        check_name(name, "column", place)
        if name.lower() in (n.lower() for n in names[:at]):
            raise MillstreamError(
                f'{what} has the column "{name}" twice',
                place,
                hint="Give one of them another name.",
            )
    if len(names) != len(plan.schema):
        named = "1 column" if len(names) == 1 else f"{len(names)} columns"
        raise MillstreamError(
            f"{what} names {named}, and its query gives {len(plan.schema)}",
            place,
            hint=f"Name all of {', '.join(plan.schema.names)}.",
        )
    return Project(tuple((n, Column(f.name, f.type)) for n, f in zip(names, plan.schema)), plan)


def _listed(group: exp.Expr | None) -> list[exp.Expr]:
    """The items of GROUP BY, those in parentheses too."""
    if group is None:
        return []
    return [
        n
        for item in group.expressions
        for n in (item.expressions if isinstance(item, exp.Tuple) else [item])
    ]


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
        for clause in clauses
        if clause is not None
        for n in clause.walk()
    )
