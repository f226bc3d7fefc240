"""Random cases with conditions on Now: generated scripts whose queries get some more conditions."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from random import Random

from .check import check
from .forms import is_static
from .generate import random_case
from .infer import Catalog, catalog_of, source_columns
from .spec import (
    INTEGERS,
    Between,
    Bin,
    Case,
    Coalesce,
    Col,
    Expr,
    Join,
    Lit,
    Not,
    Now,
    Query,
    Script,
    SetOperation,
    Source,
    SpecError,
    reads_now,
)

ABOUT = ("plain", "join", "outer", "distinct", "set", "filter", "topk", "table", "nested", "mix")
SHARE = 0.6
"""Of the queries that could have a condition on Now, so many do."""


def now_case(seed: int) -> Script:
    """A script in which some condition reads Now."""
    rng = Random(f"now {seed}")
    while True:
        base = random_case(rng.randrange(10**9), rng.choice(ABOUT))
        if not base.streams or any(s.domain != base.streams[0].domain for s in base.streams):
            continue
        if base.streams[0].domain == "latent" and len(base.streams) > 1:
            continue
        try:
            case = with_now(rng, base)
            if reads_now(case):
                check(case)
                return case
        except (SpecError, KeyError):
            continue


def with_now(rng: Random, script: Script) -> Script:
    """The script with conditions on Now in WHERE, ON and HAVING."""
    catalog = catalog_of(script)

    def change(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(change, value))
        if not is_dataclass(value):
            return value
        changed = replace(value, **{f.name: change(getattr(value, f.name)) for f in fields(value)})
        if _has_time(script, value) and rng.random() < SHARE:
            changed = conditioned(rng, script, changed, value, catalog)
        if isinstance(changed, Query | SetOperation) and changed.output == "rstream":
            changed = replace(changed, output="istream")
        return changed

    def outermost(query: object) -> object:
        """What it is by default would depend on whether the condition lets rows leave."""
        form = "streamed" if isinstance(query, Query) else "istream"
        return replace(query, output=form) if query.output is None else query

    derived = tuple(replace(d, query=change(d.query)) for d in script.derived)
    return replace(script, derived=derived, queries=tuple(map(outermost, change(script.queries))))


def _has_time(script: Script, value: object) -> bool:
    """Whether it is a query over anything but constant tables: these have no clock."""
    return isinstance(value, Query) and not all(is_static(script, s) for s in value.sources)


def conditioned(
    rng: Random, script: Script, query: Query, before: Query, catalog: Catalog
) -> Query:
    """One query with one condition on Now more."""
    where = rng.choices(("where", "on", "having"), (6, 3, 2))[0]
    joins = [i for i, join in enumerate(query.joins) if join.condition is not None]
    past = {table.name for table in script.tables if not table.retroactive}
    if where == "on" and joins:
        at = rng.choice(joins)
        if query.joins[at].source not in past:
            sources = before.sources[: at + 2]
            found = condition(rng, script, columns_of(sources, catalog))
            return replace(query, joins=changed_join(query.joins, at, found))
    if where == "having" and query.is_grouped:
        names = [(a.name, "bigint") for a in query.aggregates if a.function == "count"]
        found = condition(rng, script, names)
        return query if found is None else replace(query, having=both(query.having, found))
    found = condition(rng, script, columns_of(before.sources, catalog))
    return query if found is None else replace(query, where=both(query.where, found))


def changed_join(joins: tuple[Join, ...], at: int, found: Expr | None) -> tuple[Join, ...]:
    if found is None:
        return joins
    join = replace(joins[at], condition=both(joins[at].condition, found))
    return (*joins[:at], join, *joins[at + 1 :])


def both(left: Expr | None, right: Expr) -> Expr:
    return right if left is None else Bin("AND", left, right)


def columns_of(sources: tuple[Source, ...], catalog: Catalog) -> list[tuple[str, str]]:
    """The columns of some sources, by their qualified names."""
    return [
        (f"{source.name}.{name}", type_)
        for source in sources
        for name, type_ in source_columns(source, catalog)
    ]


def condition(rng: Random, script: Script, columns: list[tuple[str, str]]) -> Expr | None:
    """A condition on Now that lets rows leave again."""
    is_time = script.streams[0].domain == "timestamp"
    kinds = ("timestamp",) if is_time else INTEGERS
    names = [name for name, type_ in columns if type_ in kinds]
    if not names:
        return None
    x, y = as_column(rng.choice(names)), as_column(rng.choice(names))
    others = [as_column(n) for n, t in columns if t in (*INTEGERS, "double")]
    z = rng.choice(others) if others else Lit(1)

    def length(most: int = 6) -> Lit:
        if not is_time:
            return Lit(rng.randint(0, most))
        return Lit(timedelta(seconds=rng.randint(0, 2 * most) / 2))

    def past(of: Expr) -> Expr:
        """A row leaves a while after a time of its own."""
        return rng.choice(
            (
                Bin("<", Bin("-", Now(), length()), of),
                Bin(">=", of, Bin("-", Now(), length())),
                Bin(">", Bin("+", of, length()), Now()),
                Bin("<=", Bin("-", Now(), of), length()),
                Not(Bin("<", Bin("+", of, length()), Now())),
            )
        )

    choices = [
        lambda: past(x),
        lambda: both(past(x), Bin("<=", x, Now())),
        lambda: both(past(x), past(y)),
        lambda: Between(Now(), x, Bin("+", rng.choice((x, y)), length())),
        lambda: Between(x, Bin("-", Now(), length()), Now()),
        lambda: both(Bin("<=", Bin("+", x, length(3)), Now()), past(y)),
        lambda: Bin("OR", past(x), both(Bin(">", Now(), Bin("+", y, length())), past(y))),
        lambda: Bin("OR", Bin("<", Now(), x), both(Bin(">=", Now(), y), past(y))),
        lambda: Bin(rng.choice(("=", "<>")), Bin("-", Now(), length()), x),
        lambda: Bin("=", Bin("%", Now(), Lit(rng.randint(2, 4))), Lit(rng.randint(0, 1))),
        lambda: Case(((Bin("<", x, Now()), Bin(">", z, Lit(1))),), past(y)),
        lambda: Coalesce((past(x), Bin("<", z, Lit(2)))),
        lambda: Not(both(past(x), Bin("<", z, Lit(2)))),
    ]
    if not is_time:
        age = Bin("-", Now(), x)
        choices += [
            lambda: Bin(">", z, Bin("*", age, Lit(rng.randint(1, 3)))),
            lambda: Bin(">", z, Bin("/", age, Lit(rng.randint(1, 3)))),
            lambda: both(Bin("<", Bin("*", age, age), Lit(rng.randint(1, 20))), past(y)),
            lambda: Bin("<", Bin("%", age, Lit(3)), z),
        ]
    return rng.choice(choices)()


def as_column(dotted: str) -> Col:
    qualifier, _, name = dotted.rpartition(".")
    return Col(name, qualifier or None)
