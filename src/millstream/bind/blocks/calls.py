"""Calls of aggregates inside blocks: built-in ones and routines, collected for one SELECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate, Sorting
from millstream.algebra.expressions import Expression
from millstream.algebra.types import INTEGER, NULL, STRING
from millstream.bind.blocks.assigning import assigned
from millstream.bind.blocks.body import Signature
from millstream.bind.blocks.scalars import Scalars
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a
from millstream.bind.queries.grouping import advice, checked, parameter_of
from millstream.blocks.leaves import Result
from millstream.blocks.queries import Called, Ordered, RoutineName
from millstream.errors import MillstreamError
from millstream.lang import name_place_of, place_of, to_sql

NONE = "none"


@dataclass
class Collector:
    """The calls of one SELECT, in the order in which they were met; equal ones are one."""

    rows: Scalars
    calls: list[Called] = field(default_factory=list)

    def builtin(self, node: exp.Expr, called: Aggregate, given: list[exp.Expr]) -> Expression:
        """Take a call of a built-in aggregate."""
        inside = self._inside(called.name)
        text = self.rows.text
        where = self._where(node, inside)
        given, distinct, feeding = _unwrapped(given, inside)
        if called.arity.least == 0 and (not given or isinstance(given[0], exp.Star)):
            kind = called.result(INTEGER)
            assert kind is not None, "what needs no argument takes everything"
            call = Called(called, (), ((called.name, kind),), where=where, feeding=feeding)
            return self._take(call)[0]
        values = [inside.bind(n) for n in checked(called, given, node, text)]
        values = [coerce(v, INTEGER) if v.type == NULL else v for v in values]
        kind = called.result(values[0].type)
        if kind is None:
            raise MillstreamError(
                f'aggregate "{called.called}" cannot take {a(values[0].type)}',
                place_of(given[0], text),
                hint=advice(called, values[0].type, to_sql(given[0])),
            )
        parameter = parameter_of(called, values, given, text)
        if called.argument is not None:
            values[0] = coerce(values[0], called.argument)
        taken = values if called.sorting is Sorting.ARGUMENT else values[:1]
        columns = ((called.name, kind),)
        call = Called(called, tuple(taken), columns, parameter, distinct, where, feeding)
        return self._take(call)[0]

    def own(self, node: exp.Anonymous, called: Signature, rows: Scalars) -> Sequence[Expression]:
        """Take a call of a routine: the columns of its result."""
        inside = self._inside(called.name)
        where = self._where(node, inside)
        given, distinct, feeding = _unwrapped(list(node.expressions), inside)
        arguments = bind_arguments(called, given, node, inside)
        name = RoutineName(called.key)
        call = Called(name, arguments, called.returns, None, distinct, where, feeding)
        return self._take(call)

    def fed_in(self, feeding: tuple[Ordered, ...]) -> tuple[Called, ...]:
        """The calls, fed in this order unless they say themselves in which."""
        return tuple(
            call if call.feeding or not feeding else replace(call, feeding=feeding)
            for call in self.calls
        )

    def _take(self, call: Called) -> list[Expression]:
        if call not in self.calls:
            self.calls.append(call)
        at = self.calls.index(call)
        return [Result(at, name, kind) for name, kind in call.columns]

    def _inside(self, name: str) -> Scalars:
        return replace(
            self.rows, clause=f'aggregate "{name}"', aggregate=None, collector=None, aliases={}
        )

    def _where(self, node: exp.Expr, inside: Scalars) -> Expression | None:
        """The condition of FILTER (WHERE …) behind the call."""
        if not (isinstance(node.parent, exp.Filter) and node.parent.this is node):
            return None
        return inside.condition(node.parent.expression.this, "FILTER")


def bind_arguments(
    called: Signature, given: list[exp.Expr], node: exp.Anonymous, scalars: Scalars
) -> tuple[Expression, ...]:
    """The arguments of a call of a routine, as the types that it declares."""
    if len(given) != len(called.arguments):
        wanted, here = len(called.arguments), len(given)
        takes = "1 argument" if wanted == 1 else f"{wanted or 'no'} arguments"
        raise MillstreamError(
            f'{called.kind} "{called.name}" takes {takes}, and here '
            f"{'is 1' if here == 1 else f'are {here or NONE}'}",
            name_place_of(node, scalars.text),
            hint=f"Write {called.usage}.",
        )
    found = []
    for written, (name, kind) in zip(given, called.arguments):
        if isinstance(written, exp.Star):
            raise MillstreamError(
                f'* is not an argument of {called.kind} "{called.name}"',
                place_of(written, scalars.text) or name_place_of(node, scalars.text),
                hint=f"Write {called.usage}.",
            )
        what = f'argument "{name}" of {called.kind} "{called.name}"'
        found.append(assigned(scalars.bind(written), kind, what, written, scalars.body.shared))
    return tuple(found)


def bind_ordered(node: exp.Expr, scalars: Scalars) -> Ordered:
    """One part of ORDER BY."""
    this = node.this if isinstance(node, exp.Ordered) else node
    value = scalars.bind(this)
    value = coerce(value, STRING) if value.type == NULL else value
    return Ordered(value, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def _unwrapped(
    given: list[exp.Expr], inside: Scalars
) -> tuple[list[exp.Expr], bool, tuple[Ordered, ...]]:
    """The arguments, whether equal ones count once, and the order in which they are fed."""
    found: list[exp.Expr] = []
    feeding: tuple[Ordered, ...] = ()
    distinct = False
    for node in given:
        if isinstance(node, exp.Order):
            feeding = tuple(bind_ordered(part, inside) for part in node.expressions)
            node = node.this
        if isinstance(node, exp.Distinct):
            distinct = True
            found += node.expressions
        elif node is not None:
            found.append(node)
    return found, distinct, feeding
