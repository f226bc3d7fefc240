"""Grouping: aggregates and GROUP BY, from the select list to a GroupBy between two projections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from millstream.aggregates.builtin import ALIASES, NAMES, result_type
from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import Column, Expression, Literal, rewrite, walk
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, INTEGER, NULL, STRING, TIMESTAMP, is_numeric
from millstream.bind.constants import coerce
from millstream.bind.expressions import Expressions
from millstream.bind.messages import a
from millstream.errors import MillstreamError, Place
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
        inside = Expressions(self.expressions.scope, text, f'aggregate "{name}"')
        name, given = _distinct(name, given, text)
        if name == "count" and (not given or isinstance(given[0], exp.Star)):
            return self._call(AggregateCall("", "count", (), INTEGER))
        parameter = None
        if name == "quantile":
            if len(given) != 2:
                raise MillstreamError(
                    'aggregate "quantile" takes a value and a fraction',
                    name_place_of(node, text),
                    hint="Write quantile(price, 0.9).",
                )
            fraction = given.pop()
            parameter = _fraction(inside.bind(fraction), place_of(fraction, text))
        if len(given) != 1:
            here = "are none" if not given else f"are {len(given)}"
            raise MillstreamError(
                f'aggregate "{name}" takes one argument, and here {here}',
                name_place_of(node, text),
                hint=f"Write {name}(column).",
            )
        value = inside.bind(given[0])
        if value.type == NULL:
            value = coerce(value, INTEGER)
        kind = result_type(name, value.type)
        if kind is None:
            raise MillstreamError(
                f'aggregate "{name}" cannot take {a(value.type)}',
                place_of(given[0], text),
                hint=_advice(name, value.type, to_sql(given[0])),
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
            raise _ungrouped(part.name, node, text, bool(keys))
    return result


def _ungrouped(name: str, node: exp.Expr, text: str, grouped: bool) -> MillstreamError:
    """A column that may differ within a group, pointed at where it stands by itself."""
    written = next(
        (
            c
            for c in _bare_columns(node)
            if name.lower() in (c.name.lower(), f"{c.table}.{c.name}".lower())
        ),
        None,
    )
    shown = to_sql(written) if written is not None else name
    group = "Add it to GROUP BY" if grouped else f"Add GROUP BY {shown}"
    return MillstreamError(
        f'column "{shown}" is neither in GROUP BY nor inside an aggregate',
        place_of(node if written is None else written, text),
        hint=f"{group}, or write max({shown}).",
    )


def _bare_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns of an expression that stand outside of its aggregates."""

    def is_aggregate(part: exp.Expr) -> bool:
        name = str(part.this).lower() if isinstance(part, exp.Anonymous) else ""
        return ALIASES.get(name, name) in NAMES

    for part in node.walk(prune=is_aggregate):
        if isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
            yield part


def key_name(node: exp.Expr, bound: Expression, taken: set[str]) -> str:
    """A name for a grouping column: its own, or its text."""
    name = bound.name if isinstance(bound, Column) else to_sql(node)
    while name in taken:
        name += "_"
    return name


def _distinct(name: str, given: list[exp.Expr], text: str) -> tuple[str, list[exp.Expr]]:
    if not (given and isinstance(given[0], exp.Distinct)):
        return name, given
    inner = given[0].expressions
    if name in ("min", "max"):
        return name, inner
    if name not in ("count", "count_distinct"):
        raise MillstreamError(
            f"{name}(DISTINCT …) is not supported yet",
            hint="Of the aggregates, count, min and max take DISTINCT.",
        )
    if len(inner) != 1:
        raise MillstreamError(
            f"count(DISTINCT …) takes one value, and here are {len(inner)}",
            place_of(given[0], text),
            hint="Make one text of them: count(DISTINCT a || ' ' || b).",
        )
    return "count_distinct", inner


def _fraction(value: Expression, place: Place | None) -> float:
    if not (isinstance(value, Literal) and is_numeric(value.type) and 0 <= value.value <= 1):
        raise MillstreamError(
            "the fraction of a quantile must be a constant from 0 to 1",
            place,
            hint="Write 0.9 for the value that 90 % are at or below.",
        )
    return float(value.value)


def _advice(name: str, kind: pa.DataType, written: str) -> str:
    if kind == BOOLEAN:
        return f"Write {name}(CASE WHEN {written} THEN 1 ELSE 0 END)."
    if pa.types.is_decimal(kind):
        return f"CAST it to decimal(18,{min(kind.scale, 18)}), or to double."
    if kind == STRING:
        return f"CAST it to a number: {name}(CAST({written} AS double))."
    if kind == TIMESTAMP:
        return f"Use numbers: {name}(unix_micros({written}))."
    return "Aggregates of times are count, min, max, first and last."
