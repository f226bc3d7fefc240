"""What can be said of a spec without its rows: names, types, domains, defaults, keys."""

from datetime import datetime

from .spec import (
    INTEGERS,
    Aggregate,
    Between,
    Bin,
    Case,
    Coalesce,
    Col,
    Columns,
    Expr,
    Func,
    InList,
    IsNull,
    Like,
    Lit,
    Not,
    Query,
    Script,
    SpecError,
)

Scope = dict[str, str]

NUMERIC = (*INTEGERS, "double", "null")
COUNTS = ("count", "count_distinct")
DOUBLES = ("avg", "stddev", "variance", "median")


def domain_of(script: Script) -> dict[str, str]:
    """The time domain of every stream, derived stream and view."""
    domain = {stream.name: stream.domain for stream in script.streams}
    for derived in script.derived:
        domain[derived.name] = domain[derived.query.stream]
    return domain


def base_of(script: Script) -> dict[str, str]:
    """The base stream that every stream, derived stream and view rests on."""
    base = {stream.name: stream.name for stream in script.streams}
    for derived in script.derived:
        base[derived.name] = base[derived.query.stream]
    return base


def schemas_of(script: Script) -> dict[str, Columns]:
    """The columns of everything that has a name, queries included; refuses a wrong spec."""
    schemas = {relation.name: relation.columns for relation in (*script.streams, *script.tables)}
    for name, query in script.named_queries():
        for source in sources_of(query):
            if source not in schemas:
                raise SpecError(f"{source} does not exist")
        schemas[name] = query_columns(query, schemas)
    for derived in script.derived:
        if derived.kind == "stream" and form_of(script, derived.query) != "stream":
            raise SpecError(f"derived stream {derived.name} has no relation-to-stream operator")
    for name, query in script.named_queries():
        check_source(script, name, query)
    return schemas


def check_source(script: Script, name: str, query: Query) -> None:
    """A tagged stream is not read, and a relation takes no window."""
    view = view_of(script, query.stream)
    if view and form_of(script, view) == "tagged":
        raise SpecError(f"{name} reads a tagged stream")
    if view and form_of(script, view) == "relation" and query.window:
        raise SpecError(f"{name} has a window on a relation")


def query_columns(query: Query, schemas: dict[str, Columns]) -> Columns:
    """The names and types of the select list."""
    scope = scope_of(query, schemas)
    for condition in (*(j.condition for j in query.joins), query.where):
        if condition is not None:
            expect("boolean", type_of(condition, scope))
    for name in query.window.partition_by if query.window else ():
        type_of(Col(name), dict(schemas[query.stream]))
    if query.is_grouped:
        groups = {item.name: type_of(item.expression, scope) for item in query.group_by}
        scope = groups | {a.name: aggregate_type(a, scope) for a in query.aggregates}
        if query.having is not None:
            expect("boolean", type_of(query.having, scope))
        if not query.select:
            raise SpecError("a grouped query has no *")
    if query.select:
        return tuple((item.name, type_of(item.expression, scope)) for item in query.select)
    return sum((schemas[name] for name in sources_of(query)), ())


def sources_of(query: Query) -> tuple[str, ...]:
    return (query.stream, *(join.table for join in query.joins))


def scope_of(query: Query, schemas: dict[str, Columns]) -> Scope:
    """The types of the columns that expressions can name, bare (if unique) and qualified."""
    scope: Scope = {}
    seen: list[str] = []
    for source in sources_of(query):
        qualifier = query.alias if source == query.stream and query.alias else source
        for name, type_ in schemas[source]:
            seen.append(name)
            scope |= {name: type_, f"{qualifier}.{name}": type_}
    return {name: type_ for name, type_ in scope.items() if seen.count(name) < 2}


def aggregate_type(aggregate: Aggregate, scope: Scope) -> str:
    argument = "null" if aggregate.argument is None else type_of(aggregate.argument, scope)
    if aggregate.function in COUNTS:
        return "bigint"
    if aggregate.function in DOUBLES or aggregate.function == "sum":
        expect_numeric(argument)
        return "bigint" if (aggregate.function, argument) == ("sum", "bigint") else "double"
    return argument


def type_of(e: Expr, scope: Scope) -> str:
    """The type of an expression; integers of any width are bigint."""

    def of(inner: Expr) -> str:
        return type_of(inner, scope)

    match e:
        case Col(name, qualifier):
            full = f"{qualifier}.{name}" if qualifier else name
            if full not in scope:
                raise SpecError(f"column {full} does not exist")
            return "bigint" if scope[full] in INTEGERS else scope[full]
        case Lit(value):
            return literal_type(value)
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
    return "boolean"


def literal_type(value: object) -> str:
    types = {bool: "boolean", int: "bigint", float: "double", str: "string", datetime: "timestamp"}
    return "null" if value is None else types[type(value)]


def common(types: tuple[str, ...]) -> str:
    """The one type that all of them widen to."""
    distinct = set(types) - {"null"}
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


def view_of(script: Script, name: str) -> Query | None:
    """The query behind the name of a derived stream or view; None for a base stream."""
    return next((d.query for d in script.derived if d.name == name), None)


def form_of(script: Script, query: Query) -> str:
    """stream, tagged or relation, with the defaults of CQL 6.2."""
    if query.output is None:
        return "stream" if is_monotonic(script, query) else "relation"
    return {"streamed": "tagged", "complete": "relation"}.get(query.output, "stream")


def is_monotonic(script: Script, query: Query) -> bool:
    """Selections, projections and joins with static tables, over what only grows."""
    if query.is_grouped:
        return False
    view = view_of(script, query.stream)
    if view and form_of(script, view) == "relation":
        return is_monotonic(script, view)
    match query.window:
        case None:
            return True
        case window:
            return window.kind == "unbounded" or (window.kind == "rows" and window.rows is None)


def key_of(script: Script, query: Query) -> tuple[int, ...] | None:
    """The positions of the key in the select list; () for a global aggregate, None for no key."""
    if query.is_grouped:
        return positions(query, tuple(item.name for item in query.group_by))
    view = view_of(script, query.stream)
    if query.joins or not view or form_of(script, view) != "relation":
        return None
    inner = key_of(script, view)
    if inner is None or not query.select:
        return inner
    names = tuple(name for name, _ in schemas_of(script)[query.stream])
    return positions(query, tuple(names[i] for i in inner))


def may_drift(script: Script, query: Query) -> bool:
    """Whether the rounding of a running sum could make equal rows look different.

    Rstream does not compare rows, and so is not affected.
    """
    view = view_of(script, query.stream)
    if view and form_of(script, view) == "relation" and may_drift(script, view):
        return True
    scope = scope_of(query, schemas_of(script))
    return query.output != "rstream" and any(sums_doubles(a, scope) for a in query.aggregates)


def sums_doubles(aggregate: Aggregate, scope: Scope) -> bool:
    if aggregate.function in ("sum", "avg"):
        return type_of(aggregate.argument, scope) == "double"
    return aggregate.function in ("stddev", "variance")


def positions(query: Query, key: tuple[str, ...]) -> tuple[int, ...] | None:
    """Where the select list holds each key column as it is; None when one is missing."""
    held: dict[str, int] = {}
    for i, item in enumerate(query.select):
        if isinstance(item.expression, Col):
            held.setdefault(item.expression.name, i)
    return tuple(held[name] for name in key) if set(key) <= set(held) else None
