"""Grouping: aggregates and GROUP BY, from the select list to a GroupBy between two projections."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from millstream.aggregates.builtin import result_type
from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import Column, Expression, Literal, rewrite, walk
from millstream.algebra.node import Node
from millstream.algebra.types import INTEGER, is_numeric, type_name
from millstream.bind.expressions import Expressions, coerce
from millstream.errors import MillstreamError
from millstream.lang import name_place_of, place_of, to_sql
from millstream.operators import GroupBy, Project
from millstream.operators.stamp import STAMPS

BY_TIME = ("first", "last")


@dataclass
class Grouping:
    """Collects the aggregate calls of a query while its expressions are bound."""

    expressions: Expressions
    calls: dict[str, AggregateCall] = field(default_factory=dict)
    arguments: dict[str, Expression] = field(default_factory=dict)

    @property
    def needs_stamps(self) -> bool:
        return any(call.function in BY_TIME for call in self.calls.values())

    def aggregate(self, node: exp.Expr, name: str, given: list[exp.Expr]) -> Expression:
        """Take an aggregate call: a column of the GroupBy stands for it."""
        text = self.expressions.text
        inside = Expressions(self.expressions.scope, text)
        name, given = _distinct(name, given)
        if name == "count" and (not given or isinstance(given[0], exp.Star)):
            return self._call(AggregateCall("", "count", (), INTEGER))
        parameter = None
        if name == "quantile":
            if len(given) != 2:
                raise MillstreamError("quantile takes a value and a fraction",
                                      hint="Write quantile(price, 0.9).")
            parameter = _fraction(inside.bind(given.pop()))
        if len(given) != 1:
            raise MillstreamError(f"{name} takes one argument, and here are {len(given)}",
                                  name_place_of(node, text))
        value = inside.bind(given[0])
        if value.type is not None and str(value.type) == "null":
            value = coerce(value, INTEGER)
        kind = result_type(name, value.type)
        if kind is None:
            raise MillstreamError(
                f"{name} does not take a {type_name(value.type)}", place_of(given[0], text),
                hint="CAST it to a type it takes.",
            )
        columns = (self._argument(value), *(STAMPS if name in BY_TIME else ()))
        return self._call(AggregateCall("", name, columns, kind, parameter))

    def plan(self, source: Node, keys: tuple[tuple[str, Expression], ...]) -> GroupBy:
        """GroupBy over a projection to the keys and the arguments."""
        stamps = [(n, Column(n, INTEGER)) for n in STAMPS] if self.needs_stamps else []
        outputs = (*keys, *self.arguments.items(), *stamps)
        return GroupBy(
            tuple(name for name, _ in keys), tuple(self.calls.values()), Project(outputs, source)
        )

    def _argument(self, value: Expression) -> str:
        for name, there in self.arguments.items():
            if there == value:
                return name
        name = f"#arg{len(self.arguments)}"
        self.arguments[name] = value
        return name

    def _call(self, call: AggregateCall) -> Expression:
        described = str(call)
        if described not in self.calls:
            name = f"#agg{len(self.calls)}"
            self.calls[described] = AggregateCall(
                name, call.function, call.arguments, call.type, call.parameter
            )
        found = self.calls[described]
        return Column(found.name, found.type)


def after_grouping(
    bound: Expression, keys: tuple[tuple[str, Expression], ...], node: exp.Expr, text: str
) -> Expression:
    """An expression over the groups: keys and aggregates; any other column is an error."""

    def to_key(part: Expression) -> Expression | None:
        for name, key in keys:
            if part == key:
                return Column(name, key.type)
        return None

    result = rewrite(bound, to_key)
    names = {name for name, _ in keys}
    for part in walk(result):
        if isinstance(part, Column) and part.name not in names and not part.name.startswith("#agg"):
            raise MillstreamError(
                f'column "{part.name}" is neither in GROUP BY nor inside an aggregate',
                place_of(node, text),
                hint=f"Add it to GROUP BY, or write max({part.name}).",
            )
    return result


def key_name(node: exp.Expr, bound: Expression, taken: set[str]) -> str:
    """A name for a grouping column: its own, or its text."""
    name = bound.name if isinstance(bound, Column) else to_sql(node)
    while name in taken:
        name += "_"
    return name


def _distinct(name: str, given: list[exp.Expr]) -> tuple[str, list[exp.Expr]]:
    if not (given and isinstance(given[0], exp.Distinct)):
        return name, given
    inner = given[0].expressions
    if name in ("min", "max"):
        return name, inner
    if name != "count":
        raise MillstreamError(f"{name}(DISTINCT …) is not supported yet",
                              hint="count(DISTINCT x) is.")
    if len(inner) != 1:
        raise MillstreamError("count(DISTINCT …) takes one column", hint="Concatenate them.")
    return "count_distinct", inner


def _fraction(value: Expression) -> float:
    if not (isinstance(value, Literal) and is_numeric(value.type) and 0 <= value.value <= 1):
        raise MillstreamError("the fraction of a quantile must be a constant from 0 to 1")
    return float(value.value)
