"""Whether the rows of a query follow from those of a view, and how: a sound matcher.

Law: where `over` gives a form, the plan built from it has the same rows at every instant as the
query. What it does not see may be contained all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa

from millstream.algebra.expressions import Call, Column, Expression, columns_of, rewrite
from millstream.algebra.node import Node
from millstream.algebra.points import Points
from millstream.conditions.implications import Sense, impossible
from millstream.operators import GroupBy
from millstream.rules.contained_points import contains
from millstream.sharing.clocks import synced
from millstream.sharing.rolling_up import Rolled, rolled_up
from millstream.sharing.skinned import (
    Skinned,
    built,
    expressed_by,
    of_input,
    skinned,
)

MOST_WAYS = 24
"""So many ways are tried in which the inputs of a view can be those of a query."""


@dataclass(frozen=True)
class WhyNot:
    """Why a query is not computed from a view, in words."""

    words: str


def over(query: Skinned, view: Skinned, node: Node) -> Skinned | WhyNot:
    """The query over a view, whose plan is `node`; or the reason why it is not."""
    if (other := _other_times(query, view)) is not None:
        return WhyNot(other)
    if len(view.inputs) > len(query.inputs):
        return WhyNot("the view joins inputs that the query does not have")
    if _are_groups(query, view) and query.inputs != view.inputs:
        return _groups_over(query, view, node)
    reason = WhyNot(_other_inputs(query, view))
    for way in _ways(query, view):
        found = _over(query, view, node, way)
        if isinstance(found, Skinned):
            return found
        reason = found
    return reason


def _other_times(query: Skinned, view: Skinned) -> str | None:
    """Why a query changes when a view does not; None where every point of it is one of the view."""
    if view.clock is None:
        return None
    if query.clock is None:
        return f"the view changes only {_when(view)}"
    if contains(view.clock, query.clock):
        return None
    return f"the view changes {_when(view)}, the query {_when(query)}"


def _when(form: Skinned) -> str:
    if isinstance(form.clock, Points):
        return form.clock.words(form.inputs[0].time_domain)
    return "at points that a stream brings"


def _other_inputs(query: Skinned, view: Skinned) -> str:
    mine = {repr(one) for one in query.inputs}
    other = next((one for one in view.inputs if repr(one) not in mine), view.inputs[0])
    first = other.text.splitlines()[0]
    return f"the view reads another input: {first}"


Way = tuple[int, ...]
"""For every input of a view, the number of the same input of a query."""


def _ways(query: Skinned, view: Skinned) -> Iterator[Way]:
    """The ways in which each input of a view is an input of a query."""
    same = [[i for i, mine in enumerate(query.inputs) if mine == theirs] for theirs in view.inputs]

    def ways(taken: Way) -> Iterator[Way]:
        if len(taken) == len(same):
            yield taken
            return
        for i in same[len(taken)]:
            if i not in taken:
                yield from ways((*taken, i))

    return islice(ways(()), MOST_WAYS)


def _over(query: Skinned, view: Skinned, node: Node, way: Way) -> Skinned | WhyNot:
    """The query over a view whose inputs are those of the query in this way."""
    asked = [_placed(condition, way) for condition in view.conditions]
    for condition, shown in zip(asked, view.conditions):
        if not follows(condition, query.conditions):
            return WhyNot(f"the view has only rows with {_shown(shown)}")
    rest = [i for i in range(len(query.inputs)) if i not in way]
    known: dict[str, Expression] = {
        repr(_placed(e, way)): Column(of_input(0, name), e.type)
        for name, e in reversed(view.outputs)
    }
    _add_equals(known, asked)
    for number, i in enumerate(rest, 1):
        for field in query.inputs[i].schema:
            column = Column(of_input(i, field.name), field.type)
            known[repr(column)] = Column(of_input(number, field.name), field.type)
    left = [c for c in query.conditions if not follows(c, asked)]
    conditions = []
    for condition in left:
        found = expressed_by(condition, known)
        if found is None:
            return WhyNot(f"the view does not have the columns for {_shown(condition)}")
        conditions.append(found)
    outputs = []
    for name, e in query.outputs:
        found = expressed_by(e, known)
        if found is None:
            return WhyNot(f"the view does not have {_shown(e)}")
        outputs.append((name, found))
    below = node if query.clock == view.clock else synced(query.clock, node)
    inputs = (below, *(synced(query.clock, query.inputs[i]) for i in rest))
    return Skinned(inputs, tuple(dict.fromkeys(conditions)), tuple(outputs))


def _placed(expression: Expression, way: Way) -> Expression:
    """An expression of a view in the columns of the query."""

    def placed(part: Expression) -> Expression | None:
        if not isinstance(part, Column):
            return None
        number, _, name = part.name.partition(".")
        return Column(of_input(way[int(number)], name), part.type)

    return rewrite(expression, placed)


def follows(condition: Expression, known: Iterable[Expression]) -> bool:
    """Whether a condition is true wherever all of the known ones are."""
    known = tuple(known)
    if condition in known:
        return True
    names = columns_of(condition)
    if not any(names & columns_of(one) for one in known):
        return impossible([(condition, Sense.NOT_TRUE)])
    facts = [(one, Sense.TRUE) for one in known]
    return impossible([*facts, (condition, Sense.NOT_TRUE)])


def _add_equals(known: dict[str, Expression], conditions: Iterable[Expression]) -> None:
    """Columns that the view tests to be equal stand for each other. Doubles do not: 0.0 equals
    -0.0."""
    pairs = [c.arguments for c in conditions if isinstance(c, Call) and c.function == "="]
    for _ in pairs:
        for one, other in (*pairs, *(reversed(pair) for pair in pairs)):
            exact = one.type == other.type and not pa.types.is_floating(one.type)
            if exact and isinstance(other, Column) and repr(one) in known:
                known.setdefault(repr(other), known[repr(one)])


def _shown(expression: Expression) -> str:
    """An expression as its author wrote it, or nearly: without numbers of inputs."""

    def bare(part: Expression) -> Expression | None:
        if not isinstance(part, Column):
            return None
        return Column(part.name.partition(".")[2], part.type)

    return str(rewrite(expression, bare))


def _are_groups(query: Skinned, view: Skinned) -> bool:
    return len(query.inputs) == len(view.inputs) == 1 and all(
        isinstance(form.inputs[0], GroupBy) for form in (query, view)
    )


def _groups_over(query: Skinned, view: Skinned, node: Node) -> Skinned | WhyNot:
    """Groups from the groups of a view: the same ones, or larger ones that are made of them."""
    mine, theirs = query.inputs[0], view.inputs[0]
    assert isinstance(mine, GroupBy) and isinstance(theirs, GroupBy)
    clock = None if mine.keys and query.clock == view.clock else query.clock
    query, view = replace(query, clock=None), replace(view, clock=None)
    inner, outer = skinned(theirs.input).at_any_time, skinned(mine.input).at_any_time
    outer = outer.where(_on_keys(query.conditions, mine))
    inner = inner.where(_on_keys(view.conditions, theirs))
    if len(inner.inputs) != len(outer.inputs):
        return WhyNot("the view groups the rows of other inputs")
    reason = WhyNot(_other_inputs(outer, inner))
    for way in _ways(outer, inner):
        rows = _rows_of_groups(outer, inner, theirs, way)
        if isinstance(rows, WhyNot):
            reason = rows
            continue
        rolled = rolled_up(mine, theirs, rows.values, rows.conditions)
        if isinstance(rolled, str):
            reason = WhyNot(rolled)
            continue
        found = _grouped_again(query, view, node, rolled)
        if isinstance(found, Skinned):
            return replace(found, clock=clock)
        reason = found
    return reason


@dataclass(frozen=True)
class _Rows:
    """What goes into the groups of a query, in the columns of the groups of a view.

    `values` are the columns that the query groups by, as the view's groups tell them; and those of
    arguments of aggregates, as columns that go into the view's groups.
    """

    values: Mapping[str, Expression]
    conditions: tuple[Expression, ...]


def _rows_of_groups(outer: Skinned, inner: Skinned, groups: GroupBy, way: Way) -> _Rows | WhyNot:
    asked = [_placed(condition, way) for condition in inner.conditions]
    for condition, shown in zip(asked, inner.conditions):
        if not follows(condition, outer.conditions):
            return WhyNot(f"the view groups only rows with {_shown(shown)}")
    placed = [(name, _placed(e, way)) for name, e in inner.outputs]
    keys: dict[str, Expression] = {
        repr(e): Column(of_input(0, name), e.type) for name, e in placed if name in groups.keys
    }
    _add_equals(keys, asked)
    conditions = []
    for condition in (c for c in outer.conditions if not follows(c, asked)):
        found = expressed_by(condition, keys)
        if found is None:
            return WhyNot(f"the view does not group by the columns of {_shown(condition)}")
        conditions.append(found)
    fed = {repr(e): Column(name, e.type) for name, e in placed if name not in groups.keys}
    values: dict[str, Expression] = {}
    for name, e in outer.outputs:
        found = expressed_by(e, keys)
        if found is not None:
            values[name] = found
        if repr(e) in fed:
            values[f"#{name}"] = fed[repr(e)]
    return _Rows(values, tuple(dict.fromkeys(conditions)))


def _on_keys(conditions: Iterable[Expression], groups: GroupBy) -> list[Expression]:
    """The conditions on what groups are made by, in the columns that go into them."""
    keys = {of_input(0, key) for key in groups.keys}
    mine = [c for c in conditions if columns_of(c) <= keys]
    known = {
        repr(Column(of_input(0, f.name), f.type)): Column(f.name, f.type)
        for f in groups.schema
        if f.name in groups.keys
    }
    found = (expressed_by(c, known) for c in mine)
    return [c for c in found if c is not None]


def _grouped_again(query: Skinned, view: Skinned, node: Node, rolled: Rolled) -> Skinned | WhyNot:
    """The query over groups that are made of those of the view, or are these."""
    groups = view.inputs[0]
    if rolled.calls is None:
        known = {repr(Column(of_input(0, n), e.type)): e for n, e in rolled.results}
        again = _in_terms(query, known, groups)
        conditions = tuple(dict.fromkeys((*rolled.conditions, *again.conditions)))
        return over(replace(again, conditions=conditions), view, node)
    below = over(Skinned((groups,), rolled.conditions, rolled.given), view, node)
    if isinstance(below, WhyNot):
        return below
    mine = query.inputs[0]
    assert isinstance(mine, GroupBy)
    larger = GroupBy(mine.keys, rolled.calls, built(below), mine.since)
    known = {repr(Column(of_input(0, n), e.type)): e for n, e in rolled.results}
    return _in_terms(query, known, larger)


def _in_terms(query: Skinned, known: Mapping[str, Expression], groups: Node) -> Skinned:
    """A query over other groups, which tell all columns of its own."""
    conditions = (expressed_by(c, known) for c in query.conditions)
    outputs = ((name, expressed_by(e, known)) for name, e in query.outputs)
    return Skinned(
        (groups,),
        tuple(c for c in conditions if c is not None),
        tuple((name, e) for name, e in outputs if e is not None),
    )
