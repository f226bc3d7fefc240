"""Grouping: aggregates and GROUP BY, from the select list to a GroupBy between two projections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from millstream.aggregates.builtin import ALIASES, BY_TIME, DISTINCT, NAMES, result_type
from millstream.aggregates.call import AggregateCall
from millstream.aggregates.ordered import ORDERED
from millstream.algebra.expressions import Call, Case, Column, Expression, Literal, rewrite, walk
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, INTEGER, NULL, STRING, TIMESTAMP, is_numeric
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a
from millstream.bind.expressions.scalars import Expressions
from millstream.errors import MillstreamError, Place
from millstream.lang import name_place_of, place_of, to_sql
from millstream.operators import GroupBy, Project
from millstream.operators.stamp import STAMPS

TEXTS = ("string_agg", "string_agg" + DISTINCT)
SAME_ONCE = ("min", "max", "bool_and", "bool_or", "collect_set")
"""Aggregates to which DISTINCT makes no difference."""

ARGUMENTS = {
    "quantile": (2, 2, "a fraction: quantile(price, 0.9)"),
    "string_agg": (1, 2, "what stands between: string_agg(name, ', ')"),
    "min_by": (2, 2, "what it is the least by: min_by(name, price)"),
    "max_by": (2, 2, "what it is the greatest by: max_by(name, price)"),
}
"""How many arguments aggregates take that take more than one, and how they are written."""


@dataclass
class Grouping:
    """Collects the aggregate calls of a query while its expressions are bound."""

    expressions: Expressions
    calls: dict[str, AggregateCall] = field(default_factory=dict)
    arguments: dict[str, Expression] = field(default_factory=dict)
    places: dict[str, Place | None] = field(default_factory=dict)

    def aggregate(self, node: exp.Expr, name: str, given: list[exp.Expr]) -> Expression:
        """Take an aggregate call: a column of the GroupBy stands for it."""
        text = self.expressions.text
        inside = replace(self.expressions, clause=f'aggregate "{name}"', aggregate=None)
        where = self._where(node, inside)
        name, given = _distinct(name, given, text)
        if name == "count" and (not given or isinstance(given[0], exp.Star)):
            counted = () if where is None else (self._argument(_only(where, Literal(1, INTEGER))),)
            return self._call(AggregateCall("", "count", counted, INTEGER), node)
        values = [inside.bind(n) for n in _checked(name, given, node, text)]
        value = coerce(values[0], INTEGER) if values[0].type == NULL else values[0]
        kind = result_type(name, value.type)
        if kind is None:
            raise MillstreamError(
                f'aggregate "{name.removesuffix(DISTINCT)}" cannot take {a(value.type)}',
                place_of(given[0], text),
                hint=_advice(name, value.type, to_sql(given[0])),
            )
        parameter = _parameter(name, values, given, text)
        if kind == STRING and name in TEXTS:
            value = coerce(value, STRING)
        columns = self._columns(name, value, values[1:], where)
        return self._call(AggregateCall("", name, columns, kind, parameter), node)

    def plan(self, source: Node, keys: tuple[tuple[str, Expression], ...]) -> GroupBy:
        """GroupBy over a projection to the keys and the arguments.

        Where rows have no time of their own, what goes by time goes by values, or is an error.
        """
        has_stamps = set(STAMPS) <= set(source.schema.names)
        calls = [c if has_stamps else self._without_stamps(c) for c in self.calls.values()]
        used = {name for call in calls for name in call.arguments}
        stamps = [(n, Column(n, INTEGER)) for n in STAMPS if n in used]
        arguments = [
            (name, value if has_stamps else rewrite(value, _at_no_time))
            for name, value in self.arguments.items()
        ]
        outputs = (*keys, *arguments, *stamps)
        return GroupBy(tuple(name for name, _ in keys), tuple(calls), Project(outputs, source))

    def _where(self, node: exp.Expr, inside: Expressions) -> Expression | None:
        """The condition of FILTER (WHERE …) behind the call."""
        if not (isinstance(node.parent, exp.Filter) and node.parent.this is node):
            return None
        return inside.condition(node.parent.expression.this, "FILTER")

    def _columns(
        self, name: str, value: Expression, more: list[Expression], where: Expression | None
    ) -> tuple[str, ...]:
        """The argument columns: the value, then what puts values in order.

        A row that FILTER leaves out has NULL where the aggregate skips it.
        """
        if name in ("min_by", "max_by"):
            by = coerce(more[0], INTEGER) if more[0].type == NULL else more[0]
            known = Call("not", (Call("is_null", (value,), BOOLEAN),), BOOLEAN)
            return self._argument(value), self._argument(_only(known, _only(where, by)))
        if name not in (*BY_TIME, "array_agg" + DISTINCT):
            return (self._argument(_only(where, value)),)
        if name == "array_agg" + DISTINCT:
            order: tuple[str, ...] = () if where is None else (self._argument(_always(where)),)
        elif where is None:
            order = STAMPS
        else:
            order = (self._argument(_only(where, Column(STAMPS[0], INTEGER))), STAMPS[1])
        return (self._argument(value), *order)

    def _without_stamps(self, call: AggregateCall) -> AggregateCall:
        """The call over rows that did not come as elements of one stream."""
        if call.function in ("first", "last"):
            raise MillstreamError(
                f'aggregate "{call.function}" goes by the time of the elements of one stream',
                self.places[call.name],
                detail="The rows here are those of a relation, or of several streams joined.",
                hint="Write min_by(value, time) or max_by(value, time) with a column for the time.",
            )
        return replace(call, arguments=tuple(n for n in call.arguments if n not in STAMPS))

    def _argument(self, value: Expression) -> str:
        for name, there in self.arguments.items():
            if there == value:
                return name
        name = f"#arg{len(self.arguments)}"
        self.arguments[name] = value
        return name

    def _call(self, call: AggregateCall, node: exp.Expr) -> Expression:
        described = str(call)
        if described not in self.calls:
            name = f"#agg{len(self.calls)}"
            self.calls[described] = replace(call, name=name)
            self.places[name] = name_place_of(node, self.expressions.text)
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
        if isinstance(part, Column) and part.name not in names and not part.name.startswith("#"):
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
    """The aggregate that takes equal values once, if DISTINCT is written."""
    if not (given and isinstance(given[0], exp.Distinct)):
        return name, given
    inner = given[0].expressions
    if name in ("count", "count_distinct"):
        if len(inner) != 1:
            raise MillstreamError(
                f"count(DISTINCT …) takes one value, and here are {len(inner)}",
                place_of(given[0], text),
                hint="Make one text of them: count(DISTINCT a || ' ' || b).",
            )
        return "count_distinct", inner
    if name in SAME_ONCE:
        return name, [*inner, *given[1:]]
    if name + DISTINCT not in ORDERED:
        raise MillstreamError(
            f"{name}(DISTINCT …) is not supported",
            hint=f"Of the aggregates, {', '.join(_with_distinct())} take DISTINCT.",
        )
    return name + DISTINCT, [*inner, *given[1:]]


def _with_distinct() -> list[str]:
    return [n for n in NAMES if n == "count" or n in SAME_ONCE or n + DISTINCT in ORDERED]


def _checked(name: str, given: list[exp.Expr], node: exp.Expr, text: str) -> list[exp.Expr]:
    """The arguments, as many as the aggregate takes."""
    least, most, usage = ARGUMENTS.get(name.removesuffix(DISTINCT), (1, 1, ""))
    for written in given:
        if isinstance(written, exp.Order):
            raise MillstreamError(
                f'ORDER BY inside of aggregate "{name}" is not supported',
                place_of(written, text),
                hint="Leave it out: values come in the order of time.",
            )
    if least <= len(given) <= most:
        return given
    if usage:
        what = "takes a value and " + usage.partition(": ")[0]
        raise MillstreamError(
            f'aggregate "{name.removesuffix(DISTINCT)}" {what}',
            name_place_of(node, text),
            hint=f"Write {usage.partition(': ')[2]}.",
        )
    here = "are none" if not given else f"are {len(given)}"
    raise MillstreamError(
        f'aggregate "{name.removesuffix(DISTINCT)}" takes one argument, and here {here}',
        name_place_of(node, text),
        hint=f"Write {name}(column).",
    )


def _parameter(
    name: str, values: list[Expression], given: list[exp.Expr], text: str
) -> float | str | None:
    if name == "quantile":
        return _fraction(values[1], place_of(given[1], text))
    if name not in TEXTS:
        return None
    if len(values) == 1:
        return ","
    if not (isinstance(values[1], Literal) and isinstance(values[1].value, str)):
        raise MillstreamError(
            "the separator of string_agg must be a constant string",
            place_of(given[1], text),
            hint="Write string_agg(name, ', ').",
        )
    return values[1].value


def _only(where: Expression | None, value: Expression) -> Expression:
    """The value where the condition holds, NULL elsewhere."""
    if where is None:
        return value
    return Case(((where, value),), Literal(None, value.type), value.type)


def _always(where: Expression) -> Expression:
    """The same for all rows that meet the condition."""
    return _only(where, Literal(0, INTEGER))


def _at_no_time(part: Expression) -> Expression | None:
    return Literal(0, INTEGER) if part == Column(STAMPS[0], INTEGER) else None


def _fraction(value: Expression, place: Place | None) -> float:
    if not (isinstance(value, Literal) and is_numeric(value.type) and 0 <= value.value <= 1):
        raise MillstreamError(
            "the fraction of a quantile must be a constant from 0 to 1",
            place,
            hint="Write 0.9 for the value that 90 % are at or below.",
        )
    return float(value.value)


def _advice(name: str, kind: pa.DataType, written: str) -> str:
    if pa.types.is_list(kind):
        return "Aggregates of arrays are count, first, last and array_agg."
    if name in ("bool_and", "bool_or"):
        return f"Compare it with something: {name}({written} > 0)."
    if kind == BOOLEAN:
        return f"Write {name}(CASE WHEN {written} THEN 1 ELSE 0 END)."
    if pa.types.is_decimal(kind):
        return f"CAST it to decimal(18,{min(kind.scale, 18)}), or to double."
    if kind == STRING:
        return f"CAST it to a number: {name}(CAST({written} AS double))."
    if kind == TIMESTAMP:
        return f"Use numbers: {name}(unix_micros({written}))."
    return "Aggregates of times are count, min, max, first and last."
