"""FROM and WHERE as generators: they put a row of each source in its place, and yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from millstream.algebra.expressions import Call, Expression, conjunction, conjuncts
from millstream.blocks.general.naming import labels
from millstream.blocks.general.scope import Code, Find, Frame, Place, Scope
from millstream.blocks.general.sources import Found, found
from millstream.blocks.leaves import Field
from millstream.blocks.queries import Select, Source

Loop = Callable[[Frame], Iterator[None]]
"""Yields once for every combination of rows, which it has put in their places."""


def once(f: Frame) -> Iterator[None]:
    yield


@dataclass(frozen=True)
class From:
    """The loop over all sources; `single` are the place and the rows of the only source, if it is
    one, and the condition that is left; `places` are those of all sources."""

    loop: Loop
    places: tuple[Place, ...]
    single: tuple[int, Find, Code | None] | None = None


def joined(query: Select, scope: Scope) -> From:
    """The sources of a select, with its WHERE: each condition is tested as early as it can be."""
    sources = query.sources
    due = _due(query)
    places: list[Place] = []
    loop: Loop = once
    single = None
    for at, source in enumerate(sources):
        rows = found(source, scope)
        place = scope.source(source, rows.columns)
        if source.join == "cross":
            condition, find = _narrowed(source, rows, due[at + 1], scope)
            single = (place.slot, find, condition) if len(sources) == 1 else None
            loop = _cross(loop, place.slot, find, condition)
        else:
            loop = _outer(source, rows, place, tuple(places), loop, scope)
            loop = _tested(loop, _all(due[at + 1], scope))
        places.append(place)
    if not sources:
        loop = _tested(loop, _all(due[0], scope))
    elif due[0]:
        loop, single = _before(_all(due[0], scope), loop), None
    return From(loop, tuple(places), single)


def _due(query: Select) -> list[list[Expression]]:
    """The conditions of WHERE by the number of sources that must be there before they are tested.

    A right or full join makes rows of its own: what is tested before it would miss them.
    """
    order = {source.label: at + 1 for at, source in enumerate(query.sources)}
    late = [at + 1 for at, s in enumerate(query.sources) if s.join in ("right", "full")]
    due: list[list[Expression]] = [[] for _ in range(len(order) + 1)]
    for condition in [] if query.where is None else conjuncts(query.where):
        here = [order[label] for label in labels(condition) if label in order]
        due[max([0, *here, *late])].append(condition)
    return due


def _all(conditions: list[Expression], scope: Scope) -> Code | None:
    return scope.code(conjunction(conditions)) if conditions else None


def _narrowed(
    source: Source, rows: Found, conditions: list[Expression], scope: Scope
) -> tuple[Code | None, Find]:
    """The conditions as code, and the rows of the source that they may hold for."""
    find = rows.all
    if rows.lookup is not None:
        for condition in conditions:
            key = sought(condition, source.label)
            if key is not None:
                name, value = key
                index = scope.places.fields[source.label].index(name)
                find = rows.lookup(index, scope.code(value))
                break
    return _all(conditions, scope), find


def sought(condition: Expression, label: int) -> tuple[str, Expression] | None:
    """The column of a source and what it must be equal to, which is known without the source."""
    if not isinstance(condition, Call) or condition.function != "=":
        return None
    left, right = condition.arguments
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Field) and side.label == label and label not in labels(other):
            return side.name, other
    return None


def _cross(before: Loop, slot: int, find: Find, condition: Code | None) -> Loop:
    def run(f: Frame) -> Iterator[None]:
        for _ in before(f):
            for row in find(f):
                f[slot] = row
                if condition is None or condition(f):
                    yield

    return run


def _tested(before: Loop, condition: Code | None) -> Loop:
    if condition is None:
        return before

    def run(f: Frame) -> Iterator[None]:
        for _ in before(f):
            if condition(f):
                yield

    return run


def _before(condition: Code | None, loop: Loop) -> Loop:
    assert condition is not None

    def run(f: Frame) -> Iterator[None]:
        if condition(f):
            yield from loop(f)

    return run


def _outer(
    source: Source,
    rows: Found,
    place: Place,
    places: tuple[Place, ...],
    before: Loop,
    scope: Scope,
) -> Loop:
    """A left, right or full join: first the pairs, and left rows without any as they come; then
    the right rows that were in none."""
    on = [] if source.on is None else conjuncts(source.on)
    whole = source.join != "left"
    condition, find = _narrowed(source, rows, [] if whole else on, scope)
    matches = _all(on, scope) if whole else condition
    slot, nothing = place.slot, (None,) * len(place.columns)
    empty = [(p.slot, (None,) * len(p.columns)) for p in places]
    keeps_left = source.join != "right"

    def run(f: Frame) -> Iterator[None]:
        matched: set[int] = set()
        right = list(rows.all(f)) if whole else None
        for _ in before(f):
            alone = True
            for at, row in enumerate(find(f) if right is None else right):
                f[slot] = row
                if matches is None or matches(f):
                    alone = False
                    matched.add(at)
                    yield
            if alone and keeps_left:
                f[slot] = nothing
                yield
        for at, row in enumerate(right or ()):
            if at not in matched:
                for other, nulls in empty:
                    f[other] = nulls
                f[slot] = row
                yield

    return run
