"""Random subqueries in conditions and select lists, correlated or not."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from .forms import owned_name
from .generate_expressions import COMPARISONS, as_column, condition, number
from .generate_joins import CLASSES
from .generate_plain import EXACT_AGGREGATES, random_aggregate
from .infer import Scope, aggregate_type, full_name, source_columns, type_of
from .spec import (
    Aggregate,
    Bin,
    Case,
    Coalesce,
    Col,
    Columns,
    Exists,
    Expr,
    InQuery,
    Item,
    Lit,
    Not,
    Order,
    Quantified,
    Query,
    Scalar,
    Script,
    Window,
)


class Subqueries:
    """The part of the maker that puts queries into expressions; the names are its own."""

    rng: Random
    script: Script
    weights: dict[str, float]
    around: list[Columns]

    def filtered(self, query: Query, columns: Columns, depth: int) -> Query:
        """WHERE with a subquery, alone or among other conditions."""
        rng = self.rng
        if depth > 3 or not self.chance("filter", 1.0 if depth < 2 else 0.25):
            return query
        test = self.test(self.qualified(query, columns), depth)
        if rng.random() < 0.3:
            test = self.wrapped(test, columns)
        if query.where is not None:
            test = Bin("AND", *rng.sample((query.where, test), 2))
        return replace(query, where=test)

    def qualified(self, query: Query, columns: Columns) -> Columns:
        """The columns under their qualified names, which subqueries can see."""
        catalog = self.catalog()
        return tuple((owned_name(catalog, query, as_column(n)), t) for n, t in columns)

    def wrapped(self, test: Expr, columns: Columns) -> Expr:
        """A test inside OR, NOT or CASE."""
        rng = self.rng
        match rng.randrange(4):
            case 0 | 1:
                return Bin("OR", *rng.sample((test, condition(rng, columns, 0)), 2))
            case 2:
                return Not(test)
        return Case(
            ((condition(rng, columns, 0), test),), rng.choice((None, Lit(True), Lit(False)))
        )

    def test(self, outer: Columns, depth: int, here: Columns | None = None) -> Expr:
        """A condition with a subquery; `here` are the columns on its own side, if not `outer`."""
        rng = self.rng
        operands = [
            c
            for c in (outer if here is None else here)
            if CLASSES.get(c[1], c[1]) in ("number", "string")
        ]
        if not operands or rng.random() < 0.3:
            return Exists(self.rows_for(outer, depth), negated=rng.random() < 0.5)
        name, type_ = rng.choice(operands)
        operand = as_column(name)
        type_ = "bigint" if type_ == "int" else type_
        if type_ != "string" and here is None and rng.random() < 0.15:
            operand = Bin(rng.choice("+-"), operand, Lit(1))
        if self.chance("scalar"):
            if rng.random() < 0.4:
                query = self.values_for(type_, outer, depth)
                op = rng.choice(COMPARISONS)
                return Quantified(operand, op, rng.choice(("ALL", "ANY")), query)
            sides = (operand, Scalar(self.single_for(type_, outer, depth)))
            return Bin(rng.choice(COMPARISONS), *rng.sample(sides, 2))
        return InQuery(operand, self.values_for(type_, outer, depth), rng.random() < 0.5)

    def rows_for(self, outer: Columns, depth: int) -> Query:
        """A query for EXISTS."""
        self.around.append(outer)
        query = self.select(depth=depth + 2)
        self.around.pop()
        return self.correlated(query, outer, 0.8)

    def values_for(self, type_: str, outer: Columns, depth: int):
        """A query of one column of a type."""
        self.around.append(outer)
        query = self.relation((type_,), depth=depth + 2)
        self.around.pop()
        return self.correlated(query, outer, 0.3) if isinstance(query, Query) else query

    def single_for(self, type_: str, outer: Columns, depth: int) -> Query:
        """A query of one row at most: a global aggregate, mostly."""
        rng, mark = self.rng, self.mark()
        (source, columns) = self.entry(depth + 2, 1)
        query, inner = self.query_over((source, columns)), self.columns_of([(source, columns)])
        if rng.random() < 0.3:
            query = replace(query, where=condition(rng, inner))
        alone, query = query, self.correlated(query, outer, 0.3)
        if rng.random() < 0.2 and type(source.of) is str and not self.is_relation(source.of):
            item = Item(self.typed(type_, inner), f"c{mark}")
            return replace(query, select=(item,), window=Window("rows", rows=1))
        if query == alone and rng.random() < 0.15:
            item = Item(self.typed(type_, inner), f"c{mark}")
            order = Order(item.name, rng.random() < 0.5)
            return replace(query, select=(item,), order_by=(order,), limit=1)
        return self.with_aggregate(query, type_, inner, mark)

    def global_for(self, type_: str, outer: Columns, depth: int) -> Query:
        """A global aggregate."""
        entry = self.entry(depth + 2, 1)
        query, inner = self.query_over(entry), self.columns_of([entry])
        return self.with_aggregate(query, type_, inner, self.mark())

    def with_aggregate(self, query: Query, type_: str, inner: Columns, mark: str) -> Query:
        rng = self.rng
        aggregate = self.aggregate(f"n{mark}", type_, inner)
        item = Item(Col(aggregate.name), f"c{mark}")
        if type_ != "string" and rng.random() < 0.25:
            item = Item(Coalesce((item.expression, Lit(0))), item.name)
        return replace(query, select=(item,), aggregates=(aggregate,))

    def aggregate(self, name: str, type_: str, inner: Columns):
        """An exact aggregate with a value of the type's class."""
        wanted = "string" if type_ == "string" else "number"
        fitting = tuple((n, t) for n, t in inner if CLASSES.get(t, t) == wanted)
        if not fitting or type_ == "string":
            allowed = ("min", "max") if fitting and type_ == "string" else ("count",)
            argument = as_column(self.rng.choice(fitting)[0]) if fitting else None
            return Aggregate(name, self.rng.choice(allowed), argument)
        return random_aggregate(self.rng, name, fitting, EXACT_AGGREGATES)

    def correlated(self, query: Query, outer: Columns, usual: float) -> Query:
        """The query with a condition that names a column around it; mostly an equality.

        Mostly one of the query right around it, sometimes of one further out.
        """
        rng = self.rng
        share = (
            max(usual, self.weights.get("correlated", 0.0)) if "correlated" in self.weights else 0
        )
        if rng.random() >= share or query.limit is not None:
            return query
        if self.around and rng.random() < 0.25:
            outer = rng.choice(self.around)
        inner = self.inner_columns(query)
        met = self.meeting(tuple(c for c in outer if c[1] != "double"), inner)
        if met is None:
            return query
        if not (isinstance(met, Bin) and met.op == "=") and rng.random() < 0.5:
            return query
        return replace(query, where=met if query.where is None else Bin("AND", query.where, met))

    def inner_columns(self, query: Query) -> Columns:
        catalog = self.catalog()
        return tuple(
            (f"{source.name}.{name}", type_)
            for source in query.sources
            for name, type_ in source_columns(source, catalog)
        )

    def scalar_items(self, query: Query, columns: Columns, mark: str, depth: int) -> tuple:
        """Items of a select list that hold a subquery."""
        rng = self.rng
        if depth > 1 or not self.chance("scalar", 0.6):
            return ()
        outer = self.qualified(query, columns)
        match rng.randrange(5):
            case 0 | 1:
                type_ = rng.choice(("bigint", "bigint", "double", "string"))
                made: Expr = Scalar(self.single_for(type_, outer, depth))
            case 2:
                made = Bin(
                    rng.choice("+-*"), *rng.sample(self.two_numbers(columns, outer, depth), 2)
                )
            case 3:
                made = Coalesce((Scalar(self.single_for("bigint", outer, depth)), Lit(0)))
            case _:
                made = self.test(outer, depth)
        return (Item(made, f"s{mark}"),)

    def two_numbers(self, columns: Columns, outer: Columns, depth: int) -> tuple[Expr, Expr]:
        return number(self.rng, columns), Scalar(self.single_for("bigint", outer, depth))

    def with_having(self, query: Query, columns: Columns, depth: int) -> Query:
        """HAVING with a subquery: on a group's column, or on an exact aggregate."""
        rng = self.rng
        if depth > 1 or not (self.chance("scalar", 0.5) or self.chance("filter", 0.3)):
            return query
        scope = Scope(dict(columns))
        inside = [(g.name, type_of(g.expression, scope)) for g in query.group_by]
        inside += [
            (a.name, aggregate_type(a, scope))
            for a in query.aggregates
            if a.function in EXACT_AGGREGATES and aggregate_type(a, scope) != "double"
        ]
        plain = [g for g in query.group_by if isinstance(g.expression, Col)]
        outer = self.qualified(query, tuple((full_name(g.expression), "") for g in plain))
        outer = tuple((n, dict(inside)[g.name]) for (n, _), g in zip(outer, plain))
        test = self.test(outer, depth, tuple(inside))
        if query.having is not None:
            test = Bin(rng.choice(("AND", "OR")), query.having, test)
        return replace(query, having=test)

    def expression(self) -> Query:
        """A query without FROM: an expression over global aggregates."""
        mark = self.mark()
        parts = [Scalar(self.global_for("bigint", (), 0)) for _ in range(2)]
        made = Bin(self.rng.choice("+-*/"), *parts)
        items = (Item(made, f"e{mark}"), Item(parts[0], f"f{mark}"))
        return Query("", items[: self.rng.choice((1, 2))])

    def is_relation(self, name: str) -> bool:
        return next(r.is_relation for r in self.readables() if r.name == name)
