"""Groups from smaller groups: which aggregates follow from those of the parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.call import AggregateCall
from millstream.aggregates.count import COUNT
from millstream.aggregates.sums import SUM
from millstream.algebra.expressions import Call, Cast, Column, Expression, Literal
from millstream.algebra.types import DOUBLE, INTEGER, INTERVAL
from millstream.operators import GroupBy
from millstream.operators.project import Outputs
from millstream.rules.pieces import takes_equals_alike
from millstream.sharing.skinned import called, of_input

ENDS = ("min", "max", "bool_and", "bool_or")
"""Aggregates that are, of the parts, what they are of the rows."""


@dataclass(frozen=True)
class Rolled:
    """Groups that are made of the groups of a view, of those that meet the conditions.

    `calls` go over the columns `given`; there are none where the groups are those of the view.
    `results` are the columns of the query's groups: in those of the larger groups, or the view's.
    """

    conditions: tuple[Expression, ...]
    calls: tuple[AggregateCall, ...] | None
    given: Outputs
    results: Outputs


def rolled_up(
    mine: GroupBy,
    theirs: GroupBy,
    values: Mapping[str, Expression],
    conditions: tuple[Expression, ...],
) -> Rolled | str:
    """The groups of a query from those of a view, or why not.

    `values` are the columns that go into the query's groups: by their names as the view's groups
    tell them, after # as they go into the view's groups.
    """
    if (absent := next((key for key in mine.keys if key not in values), None)) is not None:
        return f"the view does not group by {_behind(mine, absent)}"
    doubles = [k for k in theirs.keys if pa.types.is_floating(theirs.schema.field(k).type)]
    if doubles and not all(map(takes_equals_alike, conditions)):
        return "the view groups by a double, of which a condition asks for more than its value"
    told = {repr(values[key]) for key in mine.keys}
    columns = (Column(of_input(0, key), theirs.schema.field(key).type) for key in theirs.keys)
    if all(repr(column) in told for column in columns):
        return _same(mine, theirs, values, conditions)
    if doubles:
        return "the view groups by a double, and 0.0 equals -0.0"
    return _larger(mine, theirs, values, conditions)


def _same(
    mine: GroupBy,
    theirs: GroupBy,
    values: Mapping[str, Expression],
    conditions: tuple[Expression, ...],
) -> Rolled | str:
    """The groups are those of the view: only the aggregates have to be there."""
    if mine.since != theirs.since:
        return "the view begins with other streams"
    computed = [values[k] for k in mine.keys if not isinstance(values[k], Column)]
    if computed and any(pa.types.is_floating(theirs.schema.field(k).type) for k in theirs.keys):
        return "the view groups by a double, and 0.0 equals -0.0"
    results = [(key, values[key]) for key in mine.keys]
    for call in mine.calls:
        found = _found(call, theirs, values) or _mean(call, theirs, values, _as_it_is)
        if found is None:
            return f"the view does not have {_words(call, mine)}"
        results.append((call.name, found))
    return Rolled(conditions, None, (), tuple(results))


def _larger(
    mine: GroupBy,
    theirs: GroupBy,
    values: Mapping[str, Expression],
    conditions: tuple[Expression, ...],
) -> Rolled | str:
    """The groups are made of several of the view."""
    making = _Making(mine, theirs, values)
    given = [(key, values[key]) for key in mine.keys]
    results: list[tuple[str, Expression]] = [
        (key, Column(of_input(0, key), values[key].type)) for key in mine.keys
    ]
    for call in mine.calls:
        found = making.made(call)
        if isinstance(found, str):
            return found
        results.append((call.name, found))
    calls = tuple(making.calls.values())
    return Rolled(conditions, calls, (*given, *making.given.items()), tuple(results))


class _Making:
    """The aggregates of larger groups, each once, and what they go over."""

    def __init__(self, mine: GroupBy, theirs: GroupBy, values: Mapping[str, Expression]) -> None:
        self.mine, self.theirs, self.values = mine, theirs, values
        self.given: dict[str, Expression] = {}
        self.calls: dict[str, AggregateCall] = {}

    def made(self, call: AggregateCall) -> Expression | str:
        """The result of a call, in the columns of the larger groups; or why there is none."""
        name, theirs, values = call.function, self.theirs, self.values
        part = _found(call, theirs, values)
        if name == "count" and part is not None:
            total = self._over(part, SUM, INTEGER)
            return total if self.mine.keys else _or_zero(total)
        if name in ENDS and part is not None:
            return self._over(part, call.aggregate, call.type)
        if call.aggregate.ignores_copies and len(call.arguments) == 1 and call.parameter is None:
            key = values.get(call.arguments[0])
            if key is not None and not pa.types.is_floating(key.type):
                return self._over(key, call.aggregate, call.type)
        if name == "sum" and part is not None:
            if not (call.type in (INTEGER, INTERVAL) or pa.types.is_decimal(call.type)):
                return "sums of doubles depend on what is added to what"
            return self._over(part, SUM, call.type)
        if name == "avg":
            mean = _mean(call, theirs, values, lambda e: self._over(e, SUM, e.type))
            return mean or f"the view does not have the sum and the count for {self._words(call)}"
        if part is None and name in ("count", "sum", *ENDS):
            return f"the view does not have {self._words(call)}"
        return f"{self._words(call)} of larger groups does not follow from smaller ones"

    def _words(self, call: AggregateCall) -> str:
        return _words(call, self.mine)

    def _over(self, part: Expression, aggregate: Aggregate, kind: pa.DataType) -> Column:
        """An aggregate over a column of the smaller groups."""
        known = next((n for n, e in self.given.items() if repr(e) == repr(part)), None)
        name = known or f"g{len(self.given)}"
        self.given[name] = part
        call = AggregateCall("", aggregate, (name,), kind)
        self.calls[called(call)] = replace(call, name=called(call))
        return Column(of_input(0, called(call)), kind)


def _found(
    call: AggregateCall, theirs: GroupBy, values: Mapping[str, Expression]
) -> Expression | None:
    """The same call among those of the view."""
    arguments = tuple(values.get(f"#{name}") for name in call.arguments)
    for other in theirs.calls:
        same = (other.aggregate, other.parameter, other.type) == (
            call.aggregate,
            call.parameter,
            call.type,
        )
        names = tuple(a.name if isinstance(a, Column) else None for a in arguments)
        if same and names == other.arguments:
            return Column(of_input(0, other.name), other.type)
    return None


def _as_it_is(part: Expression) -> Expression:
    return part


def _mean(
    call: AggregateCall,
    theirs: GroupBy,
    values: Mapping[str, Expression],
    total: Callable[[Expression], Expression],
) -> Expression | None:
    """A mean of whole numbers, from their sum and how many there are."""
    if call.function != "avg":
        return None
    count = replace(call, aggregate=COUNT, type=INTEGER)
    parts = [
        _found(replace(call, aggregate=SUM, type=INTEGER), theirs, values),
        _found(count, theirs, values),
    ]
    both = tuple(Cast(total(part), DOUBLE) for part in parts if part is not None)
    if len(both) < len(parts):
        return None
    return Call("/", both, DOUBLE)


def _or_zero(total: Expression) -> Expression:
    return Call("coalesce", (total, Literal(0, INTEGER)), INTEGER)


def _words(call: AggregateCall, groups: GroupBy) -> str:
    arguments = ", ".join(_behind(groups, name) for name in call.arguments) or "*"
    return f"{call.function}({arguments})"


def _behind(groups: GroupBy, name: str) -> str:
    """What goes into groups under a name."""
    outputs = getattr(groups.input, "outputs", ())
    return next((str(e) for n, e in outputs if n == name), name)
