"""SQL at an instant: another database answers the same query over what the sources hold then."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace

import pytest

from laws.scale import SCALE

from .check import check
from .compare import complaint, leftovers
from .evaluate import remember
from .forms import domain_of, leaves_of
from .generate import FOCUSES, random_case
from .infer import Catalog, source_columns
from .relations import facts_of
from .spec import (
    Aggregate,
    AnyQuery,
    Bin,
    Case,
    Lit,
    Order,
    Query,
    Row,
    Script,
    SetOperation,
    Source,
    parts_of,
)
from .sql import query_sql
from .world import World

duckdb = pytest.importorskip("duckdb")

SQL_FOCUSES = [focus for focus in FOCUSES if focus not in ("past", "collect")]
INSTANTS = 4
OTHER_MEANING = ("first", "last", "string_agg", "array_agg", "quantile")
TYPES = {"string": "varchar", "null": "varchar", "int": "bigint"}


@dataclass(frozen=True)
class Ground:
    """Turns a query into one over tables that hold the content of its windows."""

    catalog: Catalog
    tables: dict[Source, str]

    def query(self, value: object) -> object:
        """A piece of a spec without windows and stream operators, with what is implied spelled out.

        That is every order, and that a division by zero is NULL.
        """
        if isinstance(value, tuple):
            return tuple(self.query(inner) for inner in value)
        if not is_dataclass(value):
            return value
        parts = {f.name: self.query(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Query | SetOperation):
            parts |= {"output": None, "order_by": self.order(value)}
        if isinstance(value, Query):
            parts |= self.entry(value.sources[0]) if value.sources else {}
            joins = zip(parts["joins"], value.joins)
            parts["joins"] = tuple(replace(j, **self.entry(old.entry)) for j, old in joins)
        made = replace(value, **parts)
        if isinstance(made, Bin) and made.op in ("/", "%"):
            return Case(((Bin("=", made.right, Lit(0)), Lit(None)),), made)
        return made

    def entry(self, source: Source) -> dict:
        if source not in self.tables:
            return {}
        return {"source": self.tables[source], "window": None, "alias": source.name}

    def order(self, query: AnyQuery) -> tuple[Order, ...]:
        """Where NULLs go, and the other columns behind those named."""
        if query.limit is None:
            return ()
        orders = [
            replace(o, nulls=o.nulls or ("last" if o.descending else "first"))
            for o in query.order_by
        ]
        named = {o.name for o in orders}
        rest = [name for name, _ in self.catalog.queries[id(query)] if name not in named]
        return (*orders, *(Order(name, nulls="first") for name in rest))


def answered(world: World, query: AnyQuery, base) -> Iterator[tuple[int, str, list[Row], list]]:
    """Some instants of a query: its text, our rows, theirs."""
    run = world.run_of(query)
    if run is None:
        return
    leaves = list(dict.fromkeys(leaves_of(world.script, query)))
    tables = {leaf: f"leaf{i}" for i, leaf in enumerate(leaves)}
    plain = Ground(world.catalog, tables).query(query)
    text = query_sql(plain, domain_of(world.script, query))
    instants = run.instants(leaves)
    for at in instants[:: max(1, len(instants) // INSTANTS)]:
        now = {leaf: run.facts(leaf, at) for leaf in leaves}
        for leaf, facts in now.items():
            fill(base, tables[leaf], source_columns(leaf, world.catalog), [f.row for f in facts])
        ours = [fact.row for fact in facts_of(query, run.moment(now))]
        yield at, text, ours, base.sql(text).fetchall()


def fill(base, name: str, columns, rows: list[Row]) -> None:
    """A table of the other database."""
    types = ", ".join(f"{column} {TYPES.get(type_, type_)}" for column, type_ in columns)
    base.execute(f"CREATE OR REPLACE TABLE {name} ({types})")
    if rows:
        marks = ", ".join("?" * len(columns))
        base.executemany(f"INSERT INTO {name} VALUES ({marks})", [list(row) for row in rows])


def is_plain_sql(script: Script, query: AnyQuery) -> bool:
    """No aggregate that goes by time or has another meaning there, no table without reach back."""
    past = {table.name for table in script.tables if not table.retroactive}
    return not any(
        (isinstance(part, Aggregate) and part.function in OTHER_MEANING)
        or (isinstance(part, Query) and any(source.of in past for source in part.sources))
        for part in parts_of(query)
    )


def tolerance_of(text: str) -> float:
    """Their variance of large numbers, such as seconds since 1970, has fewer digits."""
    return 1e-6 if "variance(" in text or "stddev(" in text else 1e-9


def check_seeds(focus: str, seeds: range) -> None:
    """Ours and theirs are the same bag. Their optimizer is off: it takes liberties with NULL."""
    base = duckdb.connect()
    base.execute("SET error_on_division_by_zero = false")
    base.execute("PRAGMA disable_optimizer")
    for seed in seeds:
        case = random_case(seed, only=focus)
        world = World(case, check(case))
        for name, query in case.named_queries():
            if is_plain_sql(case, query):
                for at, text, ours, theirs in answered(world, query, base):
                    missing, extra = leftovers(theirs, ours, tolerance_of(text))
                    wrong = complaint(f"{focus} {seed}, {name} at {at}: ", missing, extra)
                    assert wrong is None, f"{wrong}\n{text}"
            remember(world, name, query)


@pytest.mark.parametrize("focus", SQL_FOCUSES)
def test_some_instants_are_sql(focus):
    check_seeds(focus, range(4))


@pytest.mark.slow
@pytest.mark.parametrize("focus", SQL_FOCUSES)
def test_many_instants_are_sql(focus):
    check_seeds(focus, range(4, 4 + 10 * SCALE))
