"""SELECT, VALUES and set operations as closures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from millstream.algebra.expressions import Expression
from millstream.blocks.general.grouping import grouped
from millstream.blocks.general.joins import From, Loop, joined
from millstream.blocks.general.ordering import cut, directions, ordered
from millstream.blocks.general.scope import Code, Frame, Rows, Scope, kinds
from millstream.blocks.general.values import Row, row_key
from millstream.blocks.queries import Combined, Select, Values

Finish = Callable[[Frame, list[Row]], list[Row]]


def select(query: Select, scope: Scope) -> Rows:
    """All rows of a SELECT."""
    sources = joined(query, scope)
    loop, single = sources.loop, sources.single
    if query.keys is not None:
        loop, scope = grouped(query, sources, scope)
        single = None
    outputs = [value for _, value in query.outputs]
    build = row_of(outputs + [part.value for part in query.order], scope)
    finish = _finish(query, scope)
    if finish is not None:
        return _rows(_finished(loop, build, finish))
    return Rows(_all(From(loop, (), single), build), _first(loop, build))


def row_of(expressions: list[Expression], scope: Scope) -> Callable[[Frame], Row]:
    """A row of values."""
    codes = scope.codes(expressions)
    match codes:
        case (a,):
            return lambda f: (a(f),)
        case (a, b):
            return lambda f: (a(f), b(f))
        case (a, b, c):
            return lambda f: (a(f), b(f), c(f))
    return lambda f: tuple([code(f) for code in codes])


def _all(sources: From, build: Code) -> Callable[[Frame], list[Row]]:
    if sources.single is None:
        loop = sources.loop
        return lambda f: [build(f) for _ in loop(f)]
    slot, find, condition = sources.single

    def run(f: Frame) -> list[Row]:
        out = []
        for row in find(f):
            f[slot] = row
            if condition is None or condition(f):
                out.append(build(f))
        return out

    return run


def _first(loop: Loop, build: Code) -> Callable[[Frame], Row | None]:
    def run(f: Frame) -> Row | None:
        for _ in loop(f):
            return build(f)
        return None

    return run


def _rows(every: Callable[[Frame], list[Row]]) -> Rows:
    def first(f: Frame) -> Row | None:
        rows = every(f)
        return rows[0] if rows else None

    return Rows(every, first)


def _finished(loop: Loop, build: Code, finish: Finish) -> Callable[[Frame], list[Row]]:
    return lambda f: finish(f, [build(f) for _ in loop(f)])


def _finish(query: Select, scope: Scope) -> Finish | None:
    """DISTINCT, ORDER BY and LIMIT; what is ordered by stands behind the outputs."""
    between = cut(query.limit, query.offset, scope)
    if not query.distinct and not query.order and between is None:
        return None
    width = len(query.outputs)
    key = row_key(kinds(query.columns))
    by = directions(query.order, width)

    def run(f: Frame, rows: list[Row]) -> list[Row]:
        if query.distinct:
            rows = list(_different(rows, lambda row: key(row[:width])))
        if by:
            rows = [row[:width] for row in ordered(rows, by)]
        return rows if between is None else between(f, rows)

    return run


def _different(rows: list[Row], key: Callable[[Row], Row]) -> Iterator[Row]:
    """Rows of which none before is equal."""
    seen = set()
    for row in rows:
        if (made := key(row)) not in seen:
            seen.add(made)
            yield row


def values(query: Values, scope: Scope) -> Rows:
    """The rows of VALUES, if its condition holds."""
    builds = [row_of(list(row), scope) for row in query.rows]
    if query.where is None:
        if len(builds) == 1:
            (build,) = builds
            return Rows(lambda f: [build(f)], build)
        return _rows(lambda f: [build(f) for build in builds])
    condition = scope.code(query.where)
    return _rows(lambda f: [build(f) for build in builds] if condition(f) else [])


def combined(query: Combined, scope: Scope) -> Rows:
    """UNION, INTERSECT or EXCEPT: rows of the left come first, in their order."""
    left, right = scope.query(query.left).all, scope.query(query.right).all
    key = row_key(kinds(query.columns))
    combine = _COMBINE[query.operator.lower()]
    types = kinds(query.columns)
    by = [(place, down, nulls, types[place]) for place, down, nulls in query.order]
    between = cut(query.limit, query.offset, scope)

    def run(f: Frame) -> list[Row]:
        rows = combine(left(f), right(f), key, query.all)
        rows = ordered(rows, by) if by else rows
        return rows if between is None else between(f, rows)

    return _rows(run)


Combine = Callable[[list[Row], list[Row], Callable[[Row], Row], bool], list[Row]]


def _union(left: list[Row], right: list[Row], key: Callable[[Row], Row], all: bool) -> list[Row]:
    return left + right if all else list(_different(left + right, key))


def _intersect(
    left: list[Row], right: list[Row], key: Callable[[Row], Row], all: bool
) -> list[Row]:
    """Of equal rows on the left, as many of the first as there are on the right."""
    counts = Counter(map(key, right))
    if not all:
        return [row for row in _different(left, key) if key(row) in counts]
    return [row for row in left if _taken(counts, key(row))]


def _except(left: list[Row], right: list[Row], key: Callable[[Row], Row], all: bool) -> list[Row]:
    """Of equal rows on the left, the first go, as many as there are on the right."""
    counts = Counter(map(key, right))
    if not all:
        return [row for row in _different(left, key) if key(row) not in counts]
    return [row for row in left if not _taken(counts, key(row))]


def _taken(counts: Counter[Row], key: Row) -> bool:
    if counts[key] == 0:
        return False
    counts[key] -= 1
    return True


_COMBINE: dict[str, Combine] = {"union": _union, "intersect": _intersect, "except": _except}
