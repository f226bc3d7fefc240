"""Relation to relation: join, select, group and project the facts of one instant."""

from dataclasses import dataclass
from typing import NamedTuple

from .infer import aggregate_type, scope_of, sources_of, type_of
from .spec import Columns, Query, Row
from .values import Env, aggregate_value, value_of

Tables = dict[str, tuple[Row, ...]]
Schemas = dict[str, Columns]


class Fact(NamedTuple):
    """A tuple of a relation.

    `identity` says which one it is: the element's number, pairs of it with table rows, or the
    group and its members. Two instants with the same identities saw nothing enter or leave.
    `ts` and `order` are those of the stream row it comes from; None when it is a group's.
    """

    identity: object
    ts: int | None
    order: tuple[int, ...] | None
    row: Row


@dataclass(frozen=True)
class Timeline:
    """A relation: its facts at consecutive instants; before the first it is empty."""

    moments: tuple[tuple[int, list[Fact]], ...]

    def pairs(self):
        """(τ, R(τ−1), R(τ)) for every instant."""
        before: list[Fact] = []
        for at, now in self.moments:
            yield at, before, now
            before = now

    def changes(self):
        """(τ, R(τ)) for every active instant: some tuple entered or left."""
        for at, before, now in self.pairs():
            if {f.identity for f in before} != {f.identity for f in now}:
                yield at, now

    def last(self) -> tuple[Row, ...]:
        """The bag at the last instant."""
        return tuple(fact.row for fact in self.moments[-1][1]) if self.moments else ()


def answer(
    query: Query, inputs: tuple[tuple[int, list[Fact]], ...], tables: Tables, schemas: Schemas
) -> Timeline:
    """The query at every instant of its input.

    R(τ) follows from the input at τ alone, so what a single fact is joined to and whether it
    is selected is worked out once per fact.
    """
    meets: dict[object, list[tuple[Fact, Env]]] = {}
    moments = []
    for at, facts in inputs:
        selected: list[tuple[Fact, Env]] = []
        for fact in facts:
            if fact.identity not in meets:
                meets[fact.identity] = joined(query, fact, tables, schemas)
            selected += meets[fact.identity]
        moments.append((at, projected(query, selected, schemas)))
    return Timeline(tuple(moments))


def joined(query: Query, fact: Fact, tables: Tables, schemas: Schemas) -> list[tuple[Fact, Env]]:
    """The fact with every combination of table rows that the conditions and WHERE accept."""
    pairs = [(fact, environment(query, schemas, fact.row))]
    for join in query.joins:
        pairs = [met for f, _ in pairs for met in meetings(query, join, f, tables, schemas)]
    where = query.where
    return [(f, env) for f, env in pairs if where is None or value_of(where, env) is True]


def meetings(query: Query, join, fact: Fact, tables: Tables, schemas: Schemas):
    """One fact with the rows of one table; a left join without a match gives NULLs."""
    met = []
    for index, row in enumerate(tables[join.table]):
        both = extended(fact, index, row)
        env = environment(query, schemas, both.row)
        if join.condition is None or value_of(join.condition, env) is True:
            met.append((both, env))
    if not met and join.kind == "left":
        both = extended(fact, -1, (None,) * len(schemas[join.table]))
        met.append((both, environment(query, schemas, both.row)))
    return met


def extended(fact: Fact, index: int, row: Row) -> Fact:
    return Fact((fact.identity, index), fact.ts, fact.order, fact.row + row)


def environment(query: Query, schemas: Schemas, row: Row) -> Env:
    """The columns so far, by bare and by qualified name."""
    env: Env = {}
    cells = iter(row)
    for source in sources_of(query):
        qualifier = query.alias if source == query.stream and query.alias else source
        for (name, _), cell in zip(schemas[source], cells):
            env[name] = env[f"{qualifier}.{name}"] = cell
    return env


def projected(query: Query, facts: list[tuple[Fact, Env]], schemas: Schemas) -> list[Fact]:
    """Grouping, HAVING and the select list."""
    if not query.is_grouped:
        return [fact._replace(row=selected(query, fact, env, schemas)) for fact, env in facts]
    return grouped(query, facts, schemas)


def selected(query: Query, fact: Fact, env: Env, schemas: Schemas) -> Row:
    if not query.select:
        return fact.row
    return select_row(query, env, scope_of(query, schemas))


def grouped(query: Query, facts: list[tuple[Fact, Env]], schemas: Schemas) -> list[Fact]:
    """One fact per group; without GROUP BY there is always one group."""
    groups: dict[tuple, list[tuple[Fact, Env]]] = {} if query.group_by else {(): []}
    for fact, env in facts:
        key = tuple(value_of(item.expression, env) for item in query.group_by)
        groups.setdefault(key, []).append((fact, env))
    scope = scope_of(query, schemas)
    types = {item.name: type_of(item.expression, scope) for item in query.group_by}
    types |= {a.name: aggregate_type(a, scope) for a in query.aggregates}
    made = []
    for key, members in groups.items():
        env = group_environment(query, key, members)
        if query.having is None or value_of(query.having, env) is True:
            identity = (key, frozenset(fact.identity for fact, _ in members))
            made.append(Fact(identity, None, None, select_row(query, env, types)))
    return made


def group_environment(query: Query, key: tuple, members: list[tuple[Fact, Env]]) -> Env:
    """The grouping values and the aggregates by name; members in the order of time."""
    env: Env = dict(zip((item.name for item in query.group_by), key))
    return env | {a.name: aggregate_value(a, by_time(a, members)) for a in query.aggregates}


def by_time(aggregate, members: list[tuple[Fact, Env]]) -> list[Env]:
    """The members in the order of time, then of arrival, then of the aggregated value."""
    if aggregate.function in ("first", "last"):

        def moment(member: tuple[Fact, Env]) -> tuple:
            fact, env = member
            value = value_of(aggregate.argument, env)
            return fact.ts, fact.order[0], (value is not None, value)

        members = sorted(members, key=moment)
    return [env for _, env in members]


def select_row(query: Query, env: Env, types: dict[str, str]) -> Row:
    """The select list of one row; integers become doubles where the column's type is double."""
    return tuple(
        float(value)
        if isinstance(value, int) and type_of(item.expression, types) == "double"
        else value
        for item in query.select
        for value in (value_of(item.expression, env),)
    )
