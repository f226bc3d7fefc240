"""Grouping: aggregates and GROUP BY, from the select list to a GroupBy between two projections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate, Sorting
from millstream.aggregates.builtin import BUILTINS
from millstream.aggregates.call import AggregateCall
from millstream.aggregates.count import COUNT_DISTINCT
from millstream.algebra.expressions import Call, Case, Column, Expression, Literal, rewrite, walk
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, INTEGER, NULL, STRING, TIMESTAMP
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.trees import Find, aggregate_of
from millstream.errors import MillstreamError, Place
from millstream.lang import name_place_of, place_of, to_sql
from millstream.operators import GroupBy, Project
from millstream.operators.stamp import STAMPS


@dataclass
class Grouping:
    """Collects the aggregate calls of a query while its expressions are bound."""

    expressions: Expressions
    calls: dict[str, AggregateCall] = field(default_factory=dict)
    arguments: dict[str, Expression] = field(default_factory=dict)
    places: dict[str, Place | None] = field(default_factory=dict)

    def aggregate(self, node: exp.Expr, called: Aggregate, given: list[exp.Expr]) -> Expression:
        """Take an aggregate call: a column of the GroupBy stands for it."""
        text = self.expressions.text
        inside = replace(self.expressions, clause=f'aggregate "{called.name}"', aggregate=None)
        where = self._where(node, inside)
        called, given = _distinct(called, given, text)
        if called.arity.least == 0 and (not given or isinstance(given[0], exp.Star)):
            counted = () if where is None else (self.argument(_only(where, Literal(1, INTEGER))),)
            kind = called.result(INTEGER)
            assert kind is not None, "what needs no argument takes everything"
            return self._call(AggregateCall("", called, counted, kind), node)
        values = [inside.bind(n) for n in checked(called, given, node, text)]
        value = coerce(values[0], INTEGER) if values[0].type == NULL else values[0]
        kind = called.result(value.type)
        if kind is None:
            raise MillstreamError(
                f'aggregate "{called.called}" cannot take {a(value.type)}',
                place_of(given[0], text),
                hint=advice(called, value.type, to_sql(given[0])),
            )
        parameter = parameter_of(called, values, given, text)
        if called.argument is not None:
            value = coerce(value, called.argument)
        columns = self._columns(called, value, values[1:], where)
        return self._call(AggregateCall("", called, columns, kind, parameter), node)

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
        self,
        called: Aggregate,
        value: Expression,
        more: list[Expression],
        where: Expression | None,
    ) -> tuple[str, ...]:
        """The argument columns: the value, then what puts values in order.

        A row that FILTER leaves out has NULL where the aggregate skips it.
        """
        if called.sorting is Sorting.ARGUMENT:
            by = coerce(more[0], INTEGER) if more[0].type == NULL else more[0]
            known = Call("not", (Call("is_null", (value,), BOOLEAN),), BOOLEAN)
            return self.argument(value), self.argument(_only(known, _only(where, by)))
        if not called.goes_by_time and not called.counts_nulls:
            return (self.argument(_only(where, value)),)
        if not called.goes_by_time:
            order: tuple[str, ...] = () if where is None else (self.argument(_always(where)),)
        elif where is None:
            order = STAMPS
        else:
            order = (self.argument(_only(where, Column(STAMPS[0], INTEGER))), STAMPS[1])
        return (self.argument(value), *order)

    def _without_stamps(self, call: AggregateCall) -> AggregateCall:
        """The call over rows that did not come as elements of one stream."""
        if call.aggregate.sorting is Sorting.TIME:
            raise MillstreamError(
                f'aggregate "{call.function}" goes by the time of the elements of one stream',
                self.places[call.name],
                detail="The rows here are those of a relation, or of several streams joined.",
                hint="Write min_by(value, time) or max_by(value, time) with a column for the time.",
            )
        return replace(call, arguments=tuple(n for n in call.arguments if n not in STAMPS))

    def argument(self, value: Expression) -> str:
        """The name of a column that is computed below."""
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
    bound: Expression,
    keys: tuple[tuple[str, Expression], ...],
    node: exp.Expr,
    expressions: Expressions,
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
            raise ungrouped(part.name, node, expressions, bool(keys))
    return result


def of_nothing(call: AggregateCall) -> Expression:
    """What an aggregate gives for no rows."""
    return Literal(call.aggregate.of_nothing, call.type)


def ungrouped(
    name: str, node: exp.Expr, expressions: Expressions, grouped: bool
) -> MillstreamError:
    """A column that may differ within a group, pointed at where it stands by itself."""
    written = next(
        (
            c
            for c in _bare_columns(node, expressions.aggregates)
            if name.lower() in (c.name.lower(), f"{c.table}.{c.name}".lower())
        ),
        None,
    )
    shown = to_sql(written) if written is not None else name
    group = "Add it to GROUP BY" if grouped else f"Add GROUP BY {shown}"
    return MillstreamError(
        f'column "{shown}" is neither in GROUP BY nor inside an aggregate',
        place_of(node if written is None else written, expressions.text),
        hint=f"{group}, or write max({shown}).",
    )


def _bare_columns(node: exp.Expr, find: Find) -> Iterator[exp.Column]:
    """The columns of an expression that stand outside of its aggregates."""
    for part in node.walk(prune=lambda inner: aggregate_of(inner, find) is not None):
        if isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
            yield part


def key_name(node: exp.Expr, bound: Expression, taken: set[str]) -> str:
    """A name for a grouping column: its own, or its text."""
    name = bound.name if isinstance(bound, Column) else to_sql(node)
    while name in taken:
        name += "_"
    return name


def _distinct(
    called: Aggregate, given: list[exp.Expr], text: str
) -> tuple[Aggregate, list[exp.Expr]]:
    """The aggregate that takes equal values once, if DISTINCT is written."""
    if not (given and isinstance(given[0], exp.Distinct)):
        return called, given
    inner, once = given[0].expressions, called.of_distinct()
    if once is None:
        takers = [aggregate.name for aggregate in BUILTINS if _takes_distinct(aggregate)]
        raise MillstreamError(
            f"{called.name}(DISTINCT …) is not supported",
            hint=f"Of the aggregates, {', '.join(takers)} take DISTINCT.",
        )
    if once == COUNT_DISTINCT and len(inner) != 1:
        raise MillstreamError(
            f"count(DISTINCT …) takes one value, and here are {len(inner)}",
            place_of(given[0], text),
            hint="Make one text of them: count(DISTINCT a || ' ' || b).",
        )
    return once, [*inner, *given[1:]]


def _takes_distinct(aggregate: Aggregate) -> bool:
    return aggregate.of_distinct() is not None and aggregate != COUNT_DISTINCT


def checked(called: Aggregate, given: list[exp.Expr], node: exp.Expr, text: str) -> list[exp.Expr]:
    """The arguments, as many as the aggregate takes."""
    arity = called.arity
    for written in given:
        if isinstance(written, exp.Order):
            raise MillstreamError(
                f'ORDER BY inside of aggregate "{called.name}" is not supported',
                place_of(written, text),
                hint="Leave it out: values come in the order of time.",
            )
    if max(arity.least, 1) <= len(given) <= arity.most:
        return given
    if arity.second:
        raise MillstreamError(
            f'aggregate "{called.called}" takes a value and {arity.second}',
            name_place_of(node, text),
            hint=f"Write {arity.example}.",
        )
    here = "are none" if not given else f"are {len(given)}"
    raise MillstreamError(
        f'aggregate "{called.called}" takes one argument, and here {here}',
        name_place_of(node, text),
        hint=f"Write {called.called}(column).",
    )


def parameter_of(
    called: Aggregate, values: list[Expression], given: list[exp.Expr], text: str
) -> float | str | None:
    """The constant after the argument."""
    parameter = called.parameter
    if parameter is None:
        return None
    if len(values) == 1:
        return parameter.default
    written, found = values[1], None
    if isinstance(written, Literal):
        found = parameter.read(written.value, written.type)
    if found is None:
        raise MillstreamError(parameter.refused, place_of(given[1], text), hint=parameter.hint)
    return found


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


def advice(called: Aggregate, kind: pa.DataType, written: str) -> str:
    name = called.called
    if pa.types.is_list(kind):
        return "Aggregates of arrays are count, first, last and array_agg."
    if called.result(BOOLEAN) == BOOLEAN and called.result(INTEGER) is None:
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
