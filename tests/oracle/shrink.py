"""A smaller case that still fails."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace

from .check import check
from .spec import (
    AnyQuery,
    Col,
    Expr,
    Join,
    Query,
    Script,
    SetOperation,
    SpecError,
    StreamSpec,
    TableSpec,
    Window,
)

ROWS = ("rows", "changes", "statements")


def shrink(case: Script, fails: Callable[[Script], bool]) -> Script:
    """Greedily remove rows, clauses and queries as long as the case fails.

    `fails` is called with well-formed scripts only.
    """
    found = True
    while found:
        found = False
        for smaller in smaller_cases(case):
            if is_well_formed(smaller) and fails(smaller):
                case, found = smaller, True
                break
    return case


def is_well_formed(script: Script) -> bool:
    try:
        check(script)
    except SpecError:
        return False
    return True


def smaller_cases(case: Script) -> Iterator[Script]:
    """Neighbours with less in them, those with much less first."""
    for part in ("queries", "derived", "tables", "streams", "last"):
        for items in without_pieces(getattr(case, part)):
            yield replace(case, **{part: items})
    for part in ("streams", "tables"):
        relations = getattr(case, part)
        for i, relation in enumerate(relations):
            for smaller in smaller_relations(relation):
                yield replace(case, **{part: put(relations, i, smaller)})
    yield from without_views(case)
    for i, derived in enumerate(case.derived):
        for query in smaller_queries(derived.query):
            yield replace(case, derived=put(case.derived, i, replace(derived, query=query)))
    for i, query in enumerate(case.queries):
        for smaller in smaller_queries(query):
            yield replace(case, queries=put(case.queries, i, smaller))


def without_views(case: Script) -> Iterator[Script]:
    """A base stream in the place of a view, its columns in the place of those of their type."""
    named = check(case).named
    for derived in case.derived:
        rest = tuple(d for d in case.derived if d is not derived)
        for stream in case.streams:
            fitting = {"bigint" if t == "int" else t: n for n, t in stream.columns}
            names = {
                name: fitting["bigint" if type_ == "int" else type_]
                for name, type_ in named[derived.name]
                if type_ in (*fitting, "int") and name not in dict(stream.columns)
            }
            others = replace(case, derived=rest)
            yield redirected(others, derived.name, stream.name, names)


def redirected(value, old: str, new: str, names: dict[str, str]):
    """A piece of a spec that reads another source, with columns under other names."""
    if isinstance(value, tuple):
        return tuple(redirected(inner, old, new, names) for inner in value)
    if not is_dataclass(value) or isinstance(value, StreamSpec | TableSpec):
        return value
    parts = {f.name: redirected(getattr(value, f.name), old, new, names) for f in fields(value)}
    if isinstance(value, Query | Join) and value.source == old:
        parts |= {"source": new, "alias": value.alias or old}
    if isinstance(value, Col):
        parts["name"] = names.get(value.name, value.name)
    if isinstance(value, Window):
        parts["partition_by"] = tuple(names.get(name, name) for name in value.partition_by)
    return replace(value, **parts)


def smaller_relations(relation: StreamSpec | TableSpec) -> Iterator[StreamSpec | TableSpec]:
    """With fewer rows, or in less disorder."""
    for part in ROWS:
        for items in without_pieces(getattr(relation, part, ())):
            yield replace(relation, **{part: items})
    if isinstance(relation, StreamSpec) and relation.slack:
        yield replace(relation, slack=0)


def smaller_queries(query: AnyQuery) -> Iterator[AnyQuery]:
    """A query with less in it; not one with nothing in it."""
    if query.limit is not None:
        yield replace(query, order_by=(), limit=None, offset=0)
        for order in without_pieces(query.order_by):
            yield replace(query, order_by=order)
        if query.offset:
            yield replace(query, offset=0)
    if isinstance(query, SetOperation):
        yield from smaller_sets(query)
    else:
        yield from smaller_selects(query)


def smaller_sets(query: SetOperation) -> Iterator[AnyQuery]:
    for part in ("left", "right"):
        side = getattr(query, part)
        yield replace(side, output=query.output)
        for smaller in smaller_queries(side):
            yield replace(query, **{part: smaller})


def smaller_selects(query: Query) -> Iterator[Query]:
    yield from fewer_sources(query)
    for part in ("group_by", "aggregates", "select"):
        for items in without_pieces(getattr(query, part)):
            if part != "select" or items:
                yield replace(query, **{part: items})
    if query.distinct:
        yield replace(query, distinct=False)
    for part in ("where", "having"):
        if getattr(query, part) is not None:
            yield replace(query, **{part: None})
            for smaller in smaller_expressions(getattr(query, part)):
                yield replace(query, **{part: smaller})
    for part in ("select", "group_by", "aggregates"):
        items = getattr(query, part)
        for i, item in enumerate(items):
            for smaller in smaller_expressions(item):
                yield replace(query, **{part: put(items, i, smaller)})
    if query.style:
        yield replace(query, style=())


def fewer_sources(query: Query) -> Iterator[Query]:
    """FROM with less in it: fewer joins, plainer ones, smaller windows and queries."""
    for joins in without_pieces(query.joins):
        yield replace(query, joins=joins)
    if query.joins:
        first, *others = query.joins
        entry = {"source": first.source, "window": first.window, "alias": first.alias}
        yield replace(query, **entry, joins=tuple(others))
    for smaller in smaller_sources(query):
        yield smaller
    for i, join in enumerate(query.joins):
        for smaller in (*smaller_joins(join), *smaller_sources(join)):
            yield replace(query, joins=put(query.joins, i, smaller))


def smaller_joins(join: Join) -> Iterator[Join]:
    if join.kind in ("left", "right", "full"):
        yield replace(join, kind="inner")
    if join.condition is not None:
        if join.kind == "inner":
            yield replace(join, kind="cross", condition=None)
        for smaller in smaller_expressions(join.condition):
            yield replace(join, condition=smaller)


def smaller_sources(entry: Query | Join) -> Iterator:
    """The source of a query or join: what is in it instead of a query, a smaller window."""
    if not isinstance(entry.source, str):
        for part in (entry.source, *getattr(entry.source, "joins", ())):
            if isinstance(part, Query | Join):
                yield replace(entry, source=part.source, window=part.window)
                yield replace(entry, source=part.source)
        for smaller in smaller_queries(entry.source):
            yield replace(entry, source=smaller)
    for window in smaller_windows(entry.window):
        yield replace(entry, window=window)


def smaller_windows(window: Window | None) -> Iterator[Window | None]:
    if window is None:
        return
    if window.has_bounds:
        yield replace(window, kind="range", slide=None, offset=0, partition_by=())
        if window.offset:
            yield replace(window, offset=0)
        if window.kind == "hop":
            yield replace(window, kind="tumble", slide=None)
    elif window.slide:
        yield replace(window, slide=None)
    if window.partition_by:
        for names in without_pieces(window.partition_by):
            yield replace(window, partition_by=names)
    if window.kind == "rows" and window.range is not None:
        yield replace(window, range=None)
    for part in ("rows", "range", "slide"):
        half = halved(getattr(window, part) or 0)
        if half:
            yield replace(window, **{part: half})


def halved(length: int) -> int:
    """Half of a count or a duration; microseconds stay whole seconds."""
    half = length // 2
    return half - half % 1_000_000 if length >= 1_000_000 else half


def smaller_expressions(e: Expr) -> Iterator[Expr]:
    """The parts of an expression in its place; typing refuses those that do not fit."""
    for field in fields(e):
        part = getattr(e, field.name)
        if isinstance(part, Query | SetOperation):
            for smaller in smaller_queries(part):
                yield replace(e, **{field.name: smaller})
        elif is_dataclass(part):
            if isinstance(e, Expr):
                yield part
            for smaller in smaller_expressions(part):
                yield replace(e, **{field.name: smaller})
        elif isinstance(part, tuple):
            yield from inner_expressions(part)


def inner_expressions(parts: tuple) -> Iterator[Expr]:
    for part in parts:
        if isinstance(part, tuple):
            yield from inner_expressions(part)
        elif isinstance(part, Expr):
            yield part


def without_pieces(items: tuple) -> Iterator[tuple]:
    """The tuple without halves, quarters, … and single items."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


def put(items: tuple, i: int, item: object) -> tuple:
    return (*items[:i], item, *items[i + 1 :])
