"""Relation to relation: the queries of one instant, from FROM to LIMIT."""

from __future__ import annotations

from collections import Counter

from .facts import Fact, rank, values_rank
from .infer import Catalog, full_names, star_of
from .joins import Moment, Pair, joined
from .spec import Aggregate, AnyQuery, Query, Row, SetOperation, subqueries_of
from .values import Env, aggregate_value, value_of


def facts_of(query: AnyQuery, moment: Moment, outer: Env | None = None) -> list[Fact]:
    """The relation of a query at one instant."""
    if isinstance(query, SetOperation):
        facts = combined(query, moment, outer)
    else:
        facts = selected(query, moment, outer)
        if query.distinct:
            facts = [Fact(row, None, None, row) for row in dict.fromkeys(f.row for f in facts)]
    return facts if query.limit is None else limited(query, facts, moment.catalog)


def combined(query: SetOperation, moment: Moment, outer: Env | None) -> list[Fact]:
    """UNION, INTERSECT and EXCEPT; those without ALL take every value once."""
    types = [type_ for _, type_ in moment.catalog.queries[id(query)]]
    sides = [
        [f._replace(row=widened(f.row, types)) for f in facts_of(side, moment, outer)]
        for side in (query.left, query.right)
    ]
    if query.op == "union":
        if not query.all:
            values = dict.fromkeys(f.row for side in sides for f in side)
            return [Fact(row, None, None, row) for row in values]
        return [
            Fact((number, f.identity), None, None, f.row)
            for number, side in enumerate(sides)
            for f in side
        ]
    left, right = (Counter(f.row for f in side) for side in sides)
    if not query.all:
        left, right = Counter(set(left)), Counter(set(right))
    counts = left & right if query.op == "intersect" else left - right
    return [Fact((row, copy), None, None, row) for row, n in counts.items() for copy in range(n)]


def limited(query: AnyQuery, facts: list[Fact], catalog: Catalog) -> list[Fact]:
    """The first rows; ties by the values of the row, NULL first, then by arrival."""
    names = [name for name, _ in catalog.queries[id(query)]]
    facts = sorted(facts, key=lambda f: (values_rank(f.row), rank(f)))
    for order in reversed(query.order_by):
        place = names.index(order.name)
        nulls_first = order.nulls == "first" or (order.nulls is None and not order.descending)
        there = [f for f in facts if f.row[place] is not None]
        there.sort(key=lambda f: f.row[place], reverse=order.descending)
        nulls = [f for f in facts if f.row[place] is None]
        facts = nulls + there if nulls_first else there + nulls
    return facts[query.offset : query.offset + query.limit]


def widened(row: Row, types: list[str]) -> Row:
    """Integers become doubles where the column's type is double."""
    return tuple(
        float(value) if type_ == "double" and isinstance(value, int) else value
        for value, type_ in zip(row, types)
    )


def selected(query: Query, moment: Moment, outer: Env | None) -> list[Fact]:
    """FROM, WHERE, GROUP BY, HAVING and the select list."""
    pairs = joined(query, moment, outer)
    if query.where is not None:
        pairs = [(f, env) for f, env in pairs if value_of(query.where, env) is True]
    if query.is_grouped:
        return grouped(query, pairs, moment, outer)
    has_subquery = any(subqueries_of(query.select))
    made = []
    for fact, env in pairs:
        row = select_row(query, env, moment.catalog)
        identity = (fact.identity, row) if has_subquery else fact.identity
        made.append(Fact(identity, fact.ts, fact.order, row))
    return made


def select_row(query: Query, env: Env, catalog: Catalog) -> Row:
    items = query.select or star_of(query, catalog)
    types = [type_ for _, type_ in catalog.queries[id(query)]]
    return widened(tuple(value_of(item.expression, env) for item in items), types)


def grouped(query: Query, pairs: list[Pair], moment: Moment, outer: Env | None) -> list[Fact]:
    """One fact per group; without GROUP BY there is always one group."""
    groups: dict[tuple, list[Pair]] = {} if query.group_by else {(): []}
    for fact, env in pairs:
        key = tuple(value_of(item.expression, env) for item in query.group_by)
        groups.setdefault(key, []).append((fact, env))
    has_subquery = any(subqueries_of(query.select))
    made = []
    for key, members in groups.items():
        env = Env(group_names(query, key, members, moment.catalog), moment.rows, outer)
        if query.having is None or value_of(query.having, env) is True:
            row = select_row(query, env, moment.catalog)
            identity: tuple = (key, frozenset(fact.identity for fact, _ in members))
            made.append(Fact((identity, row) if has_subquery else identity, None, None, row))
    return made


def group_names(query: Query, key: tuple, members: list[Pair], catalog: Catalog) -> dict:
    """The grouping values and the aggregates by name; members in the order of time."""
    names: dict[str, object] = {}
    for item, value in zip(query.group_by, key):
        names |= {full: value for full in full_names(query, item.expression, catalog)}
    names |= dict(zip((item.name for item in query.group_by), key))
    return names | {a.name: aggregate_value(a, by_time(a, members)) for a in query.aggregates}


def by_time(aggregate: Aggregate, members: list[Pair]) -> list[Env]:
    """The members in the order of time, then of arrival, then of the aggregated value."""
    if aggregate.function in ("first", "last", "string_agg", "array_agg"):

        def moment(member: Pair) -> tuple:
            fact, env = member
            value = value_of(aggregate.argument, env)
            return fact.ts, fact.arrival, (value is not None, value)

        members = sorted(members, key=moment)
    return [env for _, env in members]
