"""What a query is as a whole: what it rests on, its domain, its output form, its key."""

from collections.abc import Iterable, Iterator

from .infer import (
    Catalog,
    catalog_of,
    common,
    full_name,
    scope_of,
    source_columns,
    star_of,
    type_of,
)
from .spec import (
    Aggregate,
    AnyQuery,
    Bin,
    Col,
    Exists,
    Expr,
    InQuery,
    Query,
    Script,
    SetOperation,
    Source,
    SpecError,
    TableSpec,
    Window,
    parts_of,
    reads_now,
    subqueries_of,
)

STREAM_OPERATORS = ("istream", "dstream", "rstream")


def view_of(script: Script, name: object) -> AnyQuery | None:
    """The query behind the name of a derived stream or view; None for a base stream or table."""
    return next((d.query for d in script.derived if d.name == name), None)


def table_of(script: Script, name: object) -> TableSpec | None:
    return next((t for t in script.tables if t.name == name), None)


def is_static(script: Script, source: Source) -> bool:
    """A table that never changes, by its name."""
    table = table_of(script, source.of)
    return table is not None and table.is_static


def sources_in(query: AnyQuery) -> Iterator[Source]:
    """All sources of a query, those of queries inside it too."""
    for part in parts_of(query):
        if isinstance(part, Query):
            yield from part.sources


def leaves_of(script: Script, query: AnyQuery) -> Iterator[Source]:
    """The sources whose content decides the relation of a query: streams, tables and views."""
    if isinstance(query, SetOperation):
        yield from leaves_of(script, query.left)
        yield from leaves_of(script, query.right)
        return
    for source in query.sources:
        if isinstance(source.of, str) or is_stream(script, source):
            yield source
        else:
            yield from leaves_of(script, source.of)
    for part in subqueries_of((query.where, query.having, query.select)):
        yield from leaves_of(script, part.query)


def bases_of(script: Script, query: AnyQuery) -> frozenset[str]:
    """The base streams and changing tables that a query rests on, through views too."""
    found: set[str] = set()
    for source in sources_in(query):
        view, table = view_of(script, source.of), table_of(script, source.of)
        if view is not None:
            found |= bases_of(script, view)
        elif isinstance(source.of, str) and (table is None or not table.is_static):
            found.add(source.of)
    return frozenset(found)


def domain_of(script: Script, query: AnyQuery) -> str:
    """The one time domain of everything a query rests on."""
    found = {base_domain(script, name) for name in bases_of(script, query)}
    if len(found) != 1:
        raise SpecError(f"a query has one time domain, not {sorted(found)}")
    return found.pop()


def base_domain(script: Script, name: str) -> str:
    return next(b.domain for b in (*script.streams, *script.tables) if b.name == name)


def form_of(script: Script, query: AnyQuery) -> str:
    """stream, tagged or relation, with the defaults of CQL 6.2."""
    if query.output is not None:
        return {"streamed": "tagged", "complete": "relation"}.get(query.output, "stream")
    grows = is_monotonic(script, query)
    if grows is None:
        raise SpecError("whether the query only grows is a matter of taste: it needs an operator")
    return "stream" if grows else "relation"


def is_stream(script: Script, source: Source) -> bool:
    """Whether a window belongs to the source; the default window if it has none."""
    if isinstance(source.of, str):
        view = view_of(script, source.of)
        if view is not None:
            return form_of(script, view) == "stream"
        return table_of(script, source.of) is None
    return source.window is not None or source.of.output in STREAM_OPERATORS


def is_monotonic(script: Script, query: AnyQuery) -> bool | None:
    """Whether rows, once there, stay; None where a derivation may or may not see it."""
    if query.limit is not None:
        return False
    if isinstance(query, SetOperation):
        sides = is_monotonic(script, query.left), is_monotonic(script, query.right)
        if query.op == "except":
            sides += (False if bases_of(script, query.right) else None,)
        return all_of(sides)
    if query.is_grouped or reads_now((query.where, tuple(j.condition for j in query.joins))):
        return False
    return all_of(
        (
            *(source_grows(script, source) for source in query.sources),
            *joins_grow(script, query),
            *conditions_grow(script, query.where),
            *(subquery_grows(script, s.query) for s in subqueries_of(query.select)),
        )
    )


def all_of(parts: Iterable[bool | None]) -> bool | None:
    """False if one is; else None if one is."""
    parts = tuple(parts)
    return False if False in parts else None if None in parts else True


def source_grows(script: Script, source: Source) -> bool | None:
    table = table_of(script, source.of)
    if table is not None:
        return table.is_static or not table.retroactive
    if is_stream(script, source):
        return is_unbounded(source.window)
    inner = view_of(script, source.of) if isinstance(source.of, str) else source.of
    return is_monotonic(script, inner)


def is_unbounded(window: Window | None) -> bool:
    if window is None or window.kind == "unbounded":
        return True
    return window.kind == "rows" and window.rows is None


def joins_grow(script: Script, query: Query) -> Iterator[bool | None]:
    """An outer join takes its NULLs back, save where one side never changes."""
    for i, join in enumerate(query.joins, 1):
        table = table_of(script, join.source)
        stays = table is not None and (table.is_static or not table.retroactive)
        if join.kind == "left" and not stays:
            yield None if not rests_on(script, join.entry) else False
        elif join.kind == "right":
            before = any(rests_on(script, source) for source in query.sources[:i])
            yield False if before else None
        elif join.kind == "full":
            yield False


def rests_on(script: Script, source: Source) -> bool:
    """Whether a source can change at all."""
    return bool(bases_of(script, Query(source.of)))


def conditions_grow(script: Script, where: Expr | None) -> Iterator[bool | None]:
    """Each part of WHERE that holds a subquery."""
    for part in conjuncts(where):
        match part:
            case InQuery(operand, query, negated) if not any(subqueries_of(operand)):
                inner = is_monotonic(script, query)
            case Exists(query, negated):
                inner = is_monotonic(script, query)
            case _:
                yield from (subquery_grows(script, s.query) for s in subqueries_of(part))
                continue
        yield inner if not negated else False if bases_of(script, query) else None


def subquery_grows(script: Script, query: AnyQuery) -> bool | None:
    return False if is_monotonic(script, query) is False else None


def conjuncts(e: Expr | None) -> list[Expr]:
    if isinstance(e, Bin) and e.op == "AND":
        return conjuncts(e.left) + conjuncts(e.right)
    return [] if e is None else [e]


def key_of(catalog: Catalog, query: AnyQuery) -> tuple[int, ...] | None:
    """The positions of the key in the select list; () for a global aggregate, None for no key."""
    if isinstance(query, SetOperation):
        found = set_key(catalog, query)
        is_set = not query.all
    else:
        found = select_key(catalog, query)
        is_set = query.distinct
    if found is None and is_set:
        return tuple(range(len(catalog.queries[id(query)])))
    return found


def set_key(catalog: Catalog, query: SetOperation) -> tuple[int, ...] | None:
    """INTERSECT and EXCEPT hold rows of the left, and keep its key unless its type is widened."""
    key = None if query.op == "union" else key_of(catalog, query.left)
    if key is None:
        return None
    types = zip(catalog.queries[id(query)], catalog.queries[id(query.left)])
    widened = [i for i, ((_, new), (_, old)) in enumerate(types) if common((old,)) != new]
    return None if set(widened) & set(key) else key


def select_key(catalog: Catalog, query: Query) -> tuple[int, ...] | None:
    """Grouping columns; otherwise the keys of all sources together."""
    if query.is_grouped:
        return positions(query, tuple(item.name for item in query.group_by))
    key: list[str] = []
    for source in query.sources:
        own = source_key(catalog, source)
        if own is None:
            return None
        key += [f"{source.name}.{name}" for name in own]
    if any(join.kind in ("left", "right", "full") for join in query.joins):
        return None
    held: dict[str, int] = {}
    for i, item in enumerate(query.select or star_of(query, catalog)):
        if isinstance(item.expression, Col):
            held.setdefault(owned_name(catalog, query, item.expression), i)
    return tuple(held[name] for name in key) if set(key) <= set(held) else None


def owned_name(catalog: Catalog, query: Query, column: Col) -> str:
    """The qualified name of a column; one of USING is the first source's."""
    if column.qualifier:
        return full_name(column)
    owners = [s for s in query.sources if column.name in dict(source_columns(s, catalog))]
    return f"{owners[0].name}.{column.name}"


def source_key(catalog: Catalog, source: Source) -> tuple[str, ...] | None:
    script, table = catalog.script, table_of(catalog.script, source.of)
    if table is not None:
        return table.key if table.key and not table.is_static else None
    if is_stream(script, source):
        return None
    inner = view_of(script, source.of) if isinstance(source.of, str) else source.of
    key, names = key_of(catalog, inner), source_columns(source, catalog)
    return None if key is None else tuple(names[i][0] for i in key)


def positions(query: Query, key: tuple[str, ...]) -> tuple[int, ...] | None:
    """Where the select list holds each key column as it is; None when one is missing."""
    held: dict[str, int] = {}
    for i, item in enumerate(query.select):
        if isinstance(item.expression, Col):
            held.setdefault(item.expression.name, i)
    return tuple(held[name] for name in key) if set(key) <= set(held) else None


def may_drift(script: Script, query: AnyQuery) -> bool:
    """Whether the rounding of a running sum could make equal rows look different.

    Rstream does not compare rows, and so is not affected by the sums of its own query.
    """
    catalog = catalog_of(script)
    own = isinstance(query, Query) and query.output != "rstream" and sums(query, catalog)
    return own or any(reads_sums(catalog, source) for source in sources_in(query))


def reads_sums(catalog: Catalog, source: Source) -> bool:
    """Whether a source is a relation with sums of doubles in it."""
    view = view_of(catalog.script, source.of)
    if view is not None:
        return form_of(catalog.script, view) == "relation" and may_drift(catalog.script, view)
    if isinstance(source.of, str):
        return False
    return any(isinstance(p, Query) and sums(p, catalog) for p in parts_of(source.of))


def sums(query: Query, catalog: Catalog) -> bool:
    return any(sums_doubles(a, query, catalog) for a in query.aggregates)


def sums_doubles(aggregate: Aggregate, query: Query, catalog: Catalog) -> bool:
    if aggregate.function in ("sum", "avg"):
        return type_of(aggregate.argument, scope_of(query, catalog)) == "double"
    return aggregate.function in ("stddev", "variance")
