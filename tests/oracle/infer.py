"""Names and types: what can be said of the columns of a spec without its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .spec import (
    INTEGERS,
    Aggregate,
    AnyQuery,
    Between,
    Bin,
    Case,
    Coalesce,
    Col,
    Columns,
    Exists,
    Expr,
    Func,
    InList,
    InQuery,
    IsNull,
    Item,
    Like,
    Lit,
    Not,
    Now,
    Quantified,
    Query,
    Scalar,
    Script,
    SetOperation,
    Source,
    SpecError,
    parts_of,
)

NUMERIC = (*INTEGERS, "double", "null")
COUNTS = ("count", "count_distinct")
DOUBLES = ("avg", "stddev", "variance", "median", "quantile")


@dataclass
class Catalog:
    """The columns of everything that has a name; those of queries are remembered when known."""

    script: Script
    named: dict[str, Columns]
    queries: dict[int, Columns] = field(default_factory=dict)
    free: dict[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scope:
    """The types of the columns that expressions can name; a subquery sees those around it."""

    names: dict[str, str]
    catalog: Catalog | None = None
    outer: Scope | None = None

    @property
    def script(self) -> Script:
        scope: Scope | None = self
        while scope is not None and scope.catalog is None:
            scope = scope.outer
        assert scope is not None and scope.catalog is not None
        return scope.catalog.script

    def type(self, name: str) -> str:
        if name in self.names:
            return self.names[name]
        if self.outer is None:
            raise SpecError(f"column {name} does not exist, or does so twice")
        return self.outer.type(name)


def catalog_of(script: Script) -> Catalog:
    """The columns of everything that has a name, queries included; refuses what is not there."""
    catalog = Catalog(script, {r.name: r.columns for r in (*script.streams, *script.tables)})
    for name, query in script.named_queries():
        catalog.named[name] = query_columns(query, catalog)
    return catalog


def query_columns(query: AnyQuery, catalog: Catalog, outer: Scope | None = None) -> Columns:
    """The names and types of a query's columns."""
    if id(query) not in catalog.queries:
        found = (
            select_columns(query, catalog, outer)
            if isinstance(query, Query)
            else set_columns(query, catalog, outer)
        )
        names = [name for name, _ in found]
        if any(order.name not in names for order in query.order_by):
            raise SpecError("ORDER BY names a column that is not selected")
        if bool(query.order_by) != (query.limit is not None):
            raise SpecError("ORDER BY and LIMIT stand together")
        catalog.queries[id(query)] = found
    return catalog.queries[id(query)]


def set_columns(query: SetOperation, catalog: Catalog, outer: Scope | None) -> Columns:
    """The left's names, with types that hold both."""
    left = query_columns(query.left, catalog, outer)
    right = query_columns(query.right, catalog, outer)
    if len(left) != len(right):
        raise SpecError(f"{query.op} of {len(left)} and {len(right)} columns")
    return tuple((name, common((a, b))) for (name, a), (_, b) in zip(left, right))


def select_columns(query: Query, catalog: Catalog, outer: Scope | None) -> Columns:
    scope = scope_of(query, catalog, outer)
    for condition in (*(j.condition for j in query.joins), query.where):
        if condition is not None:
            expect("boolean", type_of(condition, scope))
    for source in query.sources:
        columns = Scope(dict(source_columns(source, catalog)))
        for name in source.window.partition_by if source.window else ():
            columns.type(name)
    if query.is_grouped:
        scope = group_scope(query, scope)
        if query.having is not None:
            expect("boolean", type_of(query.having, scope))
        if not query.select:
            raise SpecError("a grouped query has no *")
    items = query.select or star_of(query, catalog)
    if query.select:
        return named_apart([(i.name, type_of(i.expression, scope)) for i in items])
    return named_apart([(i.name, scope.type(full_name(i.expression))) for i in items])


def named_apart(columns: list[tuple[str, str]]) -> Columns:
    """Names that differ: the second `a` is called `a_2`."""
    taken: list[str] = []
    for name, _ in columns:
        new, number = name, 1
        while new in taken:
            number += 1
            new = f"{name}_{number}"
        taken.append(new)
    return tuple(zip(taken, (type_ for _, type_ in columns)))


def star_of(query: Query, catalog: Catalog) -> tuple[Item, ...]:
    """All columns of all sources; one of USING stands once, where it comes first."""
    merged = merged_names(query)
    items: list[Item] = []
    for source in query.sources:
        for name, _ in source_columns(source, catalog):
            if name not in merged:
                items.append(Item(Col(name, source.name), name))
            elif not any(item.name == name for item in items):
                items.append(Item(Col(name), name))
    return tuple(items)


def merged_names(query: Query) -> set[str]:
    return {name for join in query.joins for name in join.using}


def source_columns(source: Source, catalog: Catalog) -> Columns:
    """The columns of a source, and those that its window gives; its own hide these."""
    own = own_columns(source, catalog)
    if source.sync is not None:
        return own + arrival_columns(own, source, catalog)
    if source.window is None or not source.window.has_bounds:
        return own
    return own + window_columns(own, source_time(source, catalog))


def window_columns(own: Columns, time: str) -> Columns:
    names = ("window_start", "window_end")
    return tuple((name, time) for name in names if name not in dict(own))


def arrival_columns(own: Columns, source: Source, catalog: Catalog) -> Columns:
    """R(S) has the column TS where S is a stream without a column of that name."""
    from .forms import is_stream

    has_own = any(name.lower() == "ts" for name, _ in own)
    if has_own or not is_stream(catalog.script, source):
        return ()
    return (("TS", source_time(source, catalog)),)


def source_time(source: Source, catalog: Catalog) -> str:
    """The type of the instants of a source."""
    from .forms import domain_of

    query = Query(source.of) if isinstance(source.of, str) else source.of
    return "timestamp" if domain_of(catalog.script, query) == "timestamp" else "bigint"


def own_columns(source: Source, catalog: Catalog) -> Columns:
    if not isinstance(source.of, str):
        return query_columns(source.of, catalog)
    if source.of not in catalog.named:
        raise SpecError(f"{source.of} does not exist")
    return catalog.named[source.of]


def scope_of(query: Query, catalog: Catalog, outer: Scope | None = None) -> Scope:
    """The columns of the sources, bare (if unique, or merged by USING) and qualified."""
    names: dict[str, str] = {}
    seen: list[str] = []
    merged = merged_names(query)
    if len({source.name for source in query.sources}) < len(query.sources):
        raise SpecError("two sources have one name")
    for source in query.sources:
        columns = dict(source_columns(source, catalog))
        for name, type_ in columns.items():
            names |= {f"{source.name}.{name}": type_}
            names[name] = common((names[name], type_)) if name in merged & set(names) else type_
            seen += [] if name in merged else [name]
    for join in query.joins:
        if any(name not in dict(source_columns(join.entry, catalog)) for name in join.using):
            raise SpecError("USING names a column that is not there")
    kept = {name: type_ for name, type_ in names.items() if seen.count(name) < 2}
    return Scope(kept, catalog, outer)


def free_names(query: AnyQuery, catalog: Catalog) -> tuple[str, ...]:
    """The names of columns that a subquery takes from the queries around it."""
    if id(query) not in catalog.free:
        inside = [s for part in parts_of(query) if isinstance(part, Query) for s in part.sources]
        names = {name for source in inside for name, _ in source_columns(source, catalog)}
        for part in parts_of(query):
            if isinstance(part, Item | Aggregate):
                names.add(part.name)
        owners = {source.name for source in inside}
        columns = [part for part in parts_of(query) if isinstance(part, Col)]
        found = {
            full_name(c)
            for c in columns
            if (c.qualifier not in owners if c.qualifier else c.name not in names)
        }
        catalog.free[id(query)] = tuple(sorted(found))
    return catalog.free[id(query)]


def group_scope(query: Query, scope: Scope) -> Scope:
    """After grouping: the grouping items and aggregates; in subqueries also the columns."""
    names = {item.name: type_of(item.expression, scope) for item in query.group_by}
    names |= {a.name: aggregate_type(a, scope) for a in query.aggregates}
    for item in query.group_by:
        for full in full_names(query, item.expression, scope.catalog):
            names.setdefault(full, names[item.name])
    return Scope(names, scope.catalog, scope.outer)


def full_names(query: Query, e: Expr, catalog: Catalog | None) -> list[str]:
    """The qualified name of a column that is grouped by."""
    if not isinstance(e, Col) or catalog is None:
        return []
    if e.qualifier:
        return [full_name(e)]
    owners = [s for s in query.sources if e.name in dict(source_columns(s, catalog))]
    return [f"{owner.name}.{e.name}" for owner in owners]


def full_name(column: Col) -> str:
    return f"{column.qualifier}.{column.name}" if column.qualifier else column.name


def aggregate_type(aggregate: Aggregate, scope: Scope) -> str:
    argument = "null" if aggregate.argument is None else type_of(aggregate.argument, scope)
    if aggregate.function in COUNTS:
        return "bigint"
    if aggregate.function in DOUBLES or aggregate.function == "sum":
        expect_numeric(argument)
        return "bigint" if (aggregate.function, argument) == ("sum", "bigint") else "double"
    if aggregate.function == "string_agg":
        expect("string", argument)
    if aggregate.function == "array_agg":
        return f"array<{argument}>"
    return argument


def type_of(e: Expr, scope: Scope) -> str:
    """The type of an expression; integers of any width are bigint."""

    def of(inner: Expr) -> str:
        return type_of(inner, scope)

    match e:
        case Col():
            found = scope.type(full_name(e))
            return "bigint" if found in INTEGERS else found
        case Lit(value):
            return literal_type(value)
        case Now():
            domain = scope.script.streams[0].domain
            return "timestamp" if domain == "timestamp" else "bigint"
        case Bin("+" | "-", left, right) if {of(left), of(right)} & {"timestamp", "interval"}:
            return "interval" if of(left) == of(right) else "timestamp"
        case Bin("%", left, right) if of(left) == "timestamp":
            return "bigint"
        case Bin("+" | "-" | "*" | "%", left, right):
            expect_numeric(of(left), of(right))
            return common((of(left), of(right), "bigint"))
        case Bin("/", left, right):
            expect_numeric(of(left), of(right))
            return "double"
        case Bin("AND" | "OR", left, right):
            expect("boolean", of(left), of(right))
        case Bin(_, left, right):
            common((of(left), of(right)))
        case Not(operand):
            expect("boolean", of(operand))
        case IsNull(operand, _):
            of(operand)
        case Between(operand, low, high):
            common((of(operand), of(low), of(high)))
        case InList(operand, items):
            common((of(operand), *map(of, items)))
        case Like(operand, _):
            expect("string", of(operand))
        case Case(whens, otherwise):
            expect("boolean", *(of(condition) for condition, _ in whens))
            values = tuple(of(value) for _, value in whens)
            return common((*values, of(otherwise)) if otherwise is not None else values)
        case Coalesce(operands):
            return common(tuple(map(of, operands)))
        case Func("upper" | "lower", operand):
            expect("string", of(operand))
            return "string"
        case Func("length", operand):
            expect("string", of(operand))
            return "bigint"
        case Func(_, operand):
            expect_numeric(of(operand))
            return of(operand)
        case Exists(query, _):
            query_columns(query, scope.catalog, scope)
        case InQuery(operand, query, _) | Quantified(operand, _, _, query):
            common((of(operand), single_type(query, scope)))
        case Scalar(query):
            return single_type(query, scope)
    return "boolean"


def single_type(query: AnyQuery, scope: Scope) -> str:
    columns = query_columns(query, scope.catalog, scope)
    if len(columns) != 1:
        raise SpecError("a subquery used as a value has one column")
    return "bigint" if columns[0][1] in INTEGERS else columns[0][1]


def literal_type(value: object) -> str:
    types = {bool: "boolean", int: "bigint", float: "double", str: "string", datetime: "timestamp"}
    types[timedelta] = "interval"
    return "null" if value is None else types[type(value)]


def common(types: tuple[str, ...]) -> str:
    """The one type that all of them widen to."""
    distinct = {"bigint" if t in INTEGERS else t for t in types} - {"null"}
    if distinct == {"bigint", "double"}:
        return "double"
    if len(distinct) > 1:
        raise SpecError(f"no common type of {', '.join(sorted(distinct))}")
    return distinct.pop() if distinct else "null"


def expect(wanted: str, *types: str) -> None:
    for type_ in types:
        if type_ not in (wanted, "null"):
            raise SpecError(f"{type_} where {wanted} is needed")


def expect_numeric(*types: str) -> None:
    for type_ in types:
        if type_ not in NUMERIC:
            raise SpecError(f"{type_} where a number is needed")
