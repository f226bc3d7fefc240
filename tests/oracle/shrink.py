"""A smaller case that still fails."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace

from .infer import schemas_of
from .spec import Expr, Query, Script, SpecError, Window

EXPRESSION_FIELDS = ("where", "having")


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
        schemas_of(script)
    except SpecError:
        return False
    return True


def smaller_cases(case: Script) -> Iterator[Script]:
    """Neighbours with less in them, those with much less first."""
    for part in ("queries", "derived", "tables", "streams"):
        for items in without_pieces(getattr(case, part)):
            yield replace(case, **{part: items})
    for part in ("streams", "tables"):
        relations = getattr(case, part)
        for i, relation in enumerate(relations):
            for rows in without_pieces(relation.rows):
                yield replace(case, **{part: put(relations, i, replace(relation, rows=rows))})
    for i, derived in enumerate(case.derived):
        for query in smaller_queries(derived.query):
            yield replace(case, derived=put(case.derived, i, replace(derived, query=query)))
    for i, query in enumerate(case.queries):
        for smaller in smaller_queries(query):
            yield replace(case, queries=put(case.queries, i, smaller))
    for i, stream in enumerate(case.streams):
        if stream.slack:
            yield replace(case, streams=put(case.streams, i, replace(stream, slack=0)))


def smaller_queries(query: Query) -> Iterator[Query]:
    for part in ("joins", "group_by", "aggregates", "select"):
        for items in without_pieces(getattr(query, part)):
            if part != "select" or items:
                yield replace(query, **{part: items})
    for part in EXPRESSION_FIELDS:
        if getattr(query, part) is not None:
            yield replace(query, **{part: None})
            for smaller in smaller_expressions(getattr(query, part)):
                yield replace(query, **{part: smaller})
    for i, item in enumerate(query.select):
        for smaller in smaller_expressions(item.expression):
            yield replace(query, select=put(query.select, i, replace(item, expression=smaller)))
    for window in smaller_windows(query.window):
        yield replace(query, window=window)
    if query.style:
        yield replace(query, style=())


def smaller_windows(window: Window | None) -> Iterator[Window | None]:
    if window is None:
        return
    if window.slide:
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
        if is_dataclass(part):
            yield part
            for smaller in smaller_expressions(part):
                yield replace(e, **{field.name: smaller})
        elif isinstance(part, tuple):
            yield from (inner for inner in part if is_dataclass(inner))


def without_pieces(items: tuple) -> Iterator[tuple]:
    """The tuple without halves, quarters, … and single items."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


def put(items: tuple, i: int, item: object) -> tuple:
    return (*items[:i], item, *items[i + 1 :])
