"""FROM at one instant: the facts of the sources, and those that meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .facts import Fact, Timeline
from .forms import is_static
from .infer import Catalog, free_names, source_columns
from .spec import AnyQuery, Join, Query, Row, Source
from .values import Env, binary, value_of

Pair = tuple[Fact, Env]
Part = tuple[Fact, dict[str, object]]


@dataclass
class Moment:
    """One instant of a query: what its sources hold then, and how a query inside it is answered.

    `past` are the tables without retroaction. What a subquery gives is remembered for equal
    values of the names it takes from outside.
    """

    catalog: Catalog
    facts: Callable[[Source], list[Fact]]
    past: dict[object, Timeline]
    answer: Callable[[AnyQuery, Moment, Env], list[Fact]]
    known: dict[tuple, list[Row]] = field(default_factory=dict)

    def rows(self, query: AnyQuery, env: Env) -> list[Row]:
        """The rows of a subquery for one row around it."""
        taken = tuple(env.value(name) for name in free_names(query, self.catalog))
        if (id(query), taken) not in self.known:
            found = [fact.row for fact in self.answer(query, self, env)]
            self.known[id(query), taken] = found
        return self.known[id(query), taken]


def joined(query: Query, moment: Moment, outer: Env | None) -> list[Pair]:
    """Every combination of facts of the sources that the join conditions accept."""
    if not query.sources:
        return [(Fact((), None, None, ()), Env({}, moment.rows, outer))]
    first = query.sources[0]
    parts = entries(first, moment.facts(first), moment)
    nothing = missing(first, moment)
    for join in query.joins:
        parts = meetings(join, parts, nothing, moment, outer)
        nothing = together(join, nothing, missing(join.entry, moment))
    return [(fact, Env(names, moment.rows, outer)) for fact, names in parts]


def meetings(
    join: Join,
    lefts: list[Part],
    nothing: dict[str, object],
    moment: Moment,
    outer: Env | None,
) -> list[Part]:
    """The facts so far with those of one more source; `nothing` are NULLs for the former."""
    source = join.entry
    rights = entries(source, moment.facts(source), moment)
    stays = is_static(moment.catalog.script, source) or source.of in moment.past
    nobody = Fact(None, None, () if stays else None, ())
    met: list[Part] = []
    alone = dict.fromkeys(range(len(rights)))
    for left in lefts:
        partners = rights
        if source.of in moment.past:
            before = moment.past[source.of].at(left[0].ts - 1)
            partners = entries(source, before, moment)
        found = [i for i, right in enumerate(partners) if accepts(join, left, right, outer)]
        met += [pair(join, left, partners[i]) for i in found]
        if not found and join.kind in ("left", "full"):
            met.append(pair(join, left, (nobody, missing(source, moment))))
        for i in found:
            alone.pop(i, None)
    if join.kind in ("right", "full"):
        met += [pair(join, (Fact(None, None, None, ()), nothing), rights[i]) for i in alone]
    return met


def entries(source: Source, facts: list[Fact], moment: Moment) -> list[Part]:
    """The facts of a source with their values by bare and by qualified name."""
    columns = [name for name, _ in source_columns(source, moment.catalog)]
    names = [*columns, *(f"{source.name}.{name}" for name in columns)]
    return [(fact, dict(zip(names, fact.row * 2))) for fact in facts]


def missing(source: Source, moment: Moment) -> dict[str, object]:
    columns = [name for name, _ in source_columns(source, moment.catalog)]
    return dict.fromkeys([*columns, *(f"{source.name}.{name}" for name in columns)])


def accepts(join: Join, left: Part, right: Part, outer: Env | None) -> bool:
    """Whether the condition, or the equality of the columns of USING, is true."""
    if join.condition is not None:
        env = Env(left[1] | right[1], None, outer)
        return value_of(join.condition, env) is True
    return all(binary("=", left[1][name], right[1][name]) is True for name in join.using)


def pair(join: Join, left: Part, right: Part) -> Part:
    """Two facts as one. It keeps the order of one that is joined with what never changes."""
    (a, _), (b, _) = left, right
    one = a if b.order == () else b if a.order == () else Fact(None, None, None, ())
    fact = Fact((a.identity, b.identity), one.ts, one.order, a.row + b.row, one.arrival)
    return fact, together(join, left[1], right[1])


def together(join: Join, left: dict[str, object], right: dict[str, object]) -> dict[str, object]:
    """The names of both; a column of USING is the left's, or the right's where that is NULL."""
    merged = {name: right[name] if left[name] is None else left[name] for name in join.using}
    return left | right | merged
