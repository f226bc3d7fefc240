"""GROUP BY and aggregate calls: each call gets the rows of a group, once all are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from millstream.aggregates.aggregate import Aggregate
from millstream.blocks.general.aggregates import over
from millstream.blocks.general.joins import From, Loop
from millstream.blocks.general.ordering import directions, ordered
from millstream.blocks.general.scope import Code, Frame, Place, Scope, kinds
from millstream.blocks.general.values import Row, row_key
from millstream.blocks.queries import Called, RoutineName, Select

Answer = Callable[[Frame, list[Row]], list[Row]]
"""The rows that a call gives for the rows of a group."""


@dataclass(frozen=True)
class Collected:
    """A call: what it is fed of a row, whether it is fed it at all, and what it answers."""

    feed: tuple[Code, ...]
    where: Code | None
    answer: Answer
    slot: int


def grouped(query: Select, sources: From, scope: Scope) -> tuple[Loop, Scope]:
    """A loop over groups, in the order of their first rows, with a first row of each in the places
    of the sources and results in those of the calls; and the scope in which these are named."""
    calls = [_collected(call, scope) for call in query.calls]
    places = tuple(Place(c.slot, call.columns) for c, call in zip(calls, query.calls))
    inside = replace(scope, calls=places or scope.calls)
    having = None if query.having is None else inside.code(query.having)
    collect = _collect(query, calls, sources, scope)
    slots = [place.slot for place in sources.places]

    def run(f: Frame) -> Iterator[None]:
        for shown, fed in collect(f):
            results = [call.answer(f, rows) for call, rows in zip(calls, fed)]
            for slot, row in zip(slots, shown):
                f[slot] = row
            for answers in product(*results):
                for call, answer in zip(calls, answers):
                    f[call.slot] = answer
                if having is None or having(f):
                    yield

    return run, inside


Group = tuple[list[Row], list[list[Row]]]
"""The first row of every source, and what each call is fed."""


def _collect(
    query: Select, calls: list[Collected], sources: From, scope: Scope
) -> Callable[[Frame], list[Group]]:
    codes = scope.codes(query.keys or ())
    key_of = row_key([key.type for key in query.keys or ()])
    slots = [place.slot for place in sources.places]
    nothing = [(None,) * len(place.columns) for place in sources.places]
    loop = sources.loop

    def run(f: Frame) -> list[Group]:
        groups: dict[Row, Group] = {}
        for _ in loop(f):
            key = key_of(tuple([code(f) for code in codes]))
            group = groups.get(key)
            if group is None:
                group = groups[key] = [f[slot] for slot in slots], [[] for _ in calls]
            for call, rows in zip(calls, group[1]):
                if call.where is None or call.where(f):
                    rows.append(tuple([code(f) for code in call.feed]))
        if not codes and not groups:
            return [(list(nothing), [[] for _ in calls])]
        return list(groups.values())

    return run


def _collected(call: Called, scope: Scope) -> Collected:
    expressions = [*call.arguments, *[part.value for part in call.feeding]]
    where = None if call.where is None else scope.code(call.where)
    return Collected(scope.codes(expressions), where, _answer(call, scope), scope.take())


def _answer(call: Called, scope: Scope) -> Answer:
    """What a call answers: it is fed in order, equal rows once if it says so."""
    compute = _compute(call, scope)
    width = len(call.arguments)
    by = directions(call.feeding, width)
    once = row_key([a.type for a in call.arguments]) if _drops_copies(call) else None
    if not by and once is None:
        return compute

    def run(f: Frame, rows: list[Row]) -> list[Row]:
        fed = [row[:width] for row in ordered(rows, by)]
        if once is not None:
            fed = list({once(row): row for row in reversed(fed)}.values())[::-1]
        return compute(f, fed)

    return run


def _drops_copies(call: Called) -> bool:
    return call.distinct and isinstance(call.function, RoutineName)


def _compute(call: Called, scope: Scope) -> Answer:
    if isinstance(call.function, RoutineName):
        return scope.shape.library.fed(call.function, call.newest, scope)
    function: Aggregate = call.function
    if call.distinct:
        found = function.of_distinct()
        assert found is not None, "the binder has asked for it"
        function = found
    finish = over(function, [a.type for a in call.arguments], call.parameter, kinds(call.columns))
    return lambda f, rows: [(finish(rows),)]
