"""Grouping: aggregates and GROUP BY, from the select list to a GroupBy between two projections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate, Sorting
from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import Call, Case, Column, Expression, Literal, rewrite, walk
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, INTEGER, NULL
from millstream.bind.expressions.aggregate_arguments import (
    advice,
    checked,
    distinct,
    parameter_of,
)
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
        inside = replace(
            self.expressions, clause=f'aggregate "{called.name}"', aggregate=None, now=None
        )
        where = self._where(node, inside)
        called, given = distinct(called, given, text)
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
    if written is None and isinstance(node, exp.Column | exp.Dot):
        shown = to_sql(node)  # of a tuple of a sequence, which the plan calls otherwise
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
