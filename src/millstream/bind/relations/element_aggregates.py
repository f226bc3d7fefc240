"""Aggregates over the tuples of an element: `sum(*Y.price)`, `count(Y)`, `f(Y.a, Y.b, 3)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import Column, Expression
from millstream.algebra.types import INTEGER, NULL
from millstream.bind.expressions.aggregate_arguments import (
    advice,
    checked,
    distinct,
    parameter_of,
)
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a
from millstream.bind.expressions.own_arguments import own_arguments
from millstream.bind.expressions.own_messages import no_such_column
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.elements import Elements, Reference, no_star
from millstream.blocks.routine import Routine
from millstream.blocks.versions import Versions
from millstream.errors import MillstreamError
from millstream.lang import OverFrame, Previous, StarOf, name_place_of, place_of, to_sql
from millstream.patterns.tallies import OwnCall, Tally

COUNTS = ("ccount",)
"""ESL's name for the continuous count."""


@dataclass(frozen=True)
class ElementAggregates:
    """Binds calls of aggregates over the tuples of one element; `tuples` binds their arguments,
    over the columns of a tuple.

    Arguments that are more than a column are computed for each tuple below the pattern, in a column
    that is named by what it computes.
    """

    tuples: Expressions

    def __call__(self, node: exp.Expr, elements: Elements) -> Reference | None:
        """What a node says of a star, if it is such a call, alone or with OVER; `f(Y.c).column` is
        a column of an aggregate of one's own."""
        column = node.expression if isinstance(node, exp.Dot) else None
        inner = node if column is None else node.this
        call = inner.this if isinstance(inner, exp.Window) else inner
        if isinstance(call, exp.Filter):
            call = call.this
        if not isinstance(call, exp.Anonymous):
            return None
        used = list(_used(call, elements))
        word = call.name.lower()
        name = "count" if word in COUNTS else word
        own, built_in = self._own(name), self.tuples.aggregates(name)
        if not used or (own is None and built_in is None):
            return None
        element = self._element(call, used, elements)
        final = any(isinstance(part, StarOf) for part in used)
        rows = _frame(inner) if isinstance(inner, exp.Window) else None
        over = "" if rows is None else f" over {rows}"
        if isinstance(inner, exp.Filter) or isinstance(inner.this, exp.Filter):
            raise MillstreamError(
                f"FILTER behind {to_sql(call)} is not supported",
                hint="Give it CASE WHEN condition THEN value END.",
            )
        if own is not None:
            tally, computed = self._of_own(own, call, element, column, over, elements)
        elif column is not None:
            return None
        else:
            assert built_in is not None
            tally, computed = self._built_in(built_in, call, element, over, elements)
        tally = replace(tally, rows=rows)
        return Reference(tally.name, tally.call.type, element, final, tally, computed)

    def _own(self, name: str) -> Versions | None:
        """A name that has a window version only means the built-in aggregate."""
        versions = self.tuples.routines(name)
        if versions is None or not versions.is_aggregate:
            return None
        hides = versions.base is not None or self.tuples.aggregates(name) is None
        return versions if hides else None

    def _element(self, call: exp.Anonymous, used: list[exp.Expr], elements: Elements) -> str:
        """The star that a call is about."""
        found = {elements.known(_element_of(part)).name for part in used}
        names = sorted(found, key=elements.place)
        if len(names) > 1:
            raise MillstreamError(
                f"{to_sql(call)} takes the tuples of one element, and here are those of "
                f"{' and '.join(names)}",
                detail=f"While a tuple of {names[0]} is tested, {names[1]} has none yet.",
                hint="Write an aggregate for each of them, and compare these.",
            )
        if not elements.known(names[0]).star:
            raise no_star(to_sql(call), names[0])
        for part in call.find_all(Previous):
            raise MillstreamError(
                "an aggregate takes columns of the tuples of a star, and no .previous",
                place_of(part.parent or part, self.tuples.text),
                hint=f"Compute the difference with lag(…) OVER in a view, and take {call.name} "
                "of that.",
            )
        return names[0]

    def _bound(
        self, call: exp.Anonymous, given: Sequence[exp.Expr], elements: Elements
    ) -> tuple[Expressions, list[exp.Expr]]:
        """The arguments as they stand over the columns of a tuple."""
        plain = [_of_tuple(part, call, elements) for part in given]
        return replace(self.tuples, clause=f'aggregate "{call.name}"'), plain

    def _built_in(
        self,
        called: Aggregate,
        call: exp.Anonymous,
        element: str,
        over: str,
        elements: Elements,
    ) -> tuple[Tally, tuple[tuple[str, Expression], ...]]:
        text = self.tuples.text
        once, given = distinct(called, list(call.expressions), text)
        if len(given) == 1 and _is_whole(given[0]) and once == called:
            kind = called.result(INTEGER)
            if called.arity.least > 0 or kind is None:
                raise MillstreamError(
                    f"{to_sql(call)} does not say which column",
                    hint=f"Write {called.called}({_star(given[0])}.{elements.columns.names[0]}).",
                )
            name = f"{called.name}({element}){over}"
            return Tally(element, AggregateCall(name, called, (), kind)), ()
        inside, given = self._bound(call, given, elements)
        values = [inside.bind(part) for part in checked(once, given, call, text)]
        value = coerce(values[0], INTEGER) if values[0].type == NULL else values[0]
        kind = once.result(value.type)
        if kind is None:
            raise MillstreamError(
                f'aggregate "{called.called}" cannot take {a(value.type)}',
                place_of(call.expressions[0], text),
                hint=advice(called, value.type, to_sql(call.expressions[0])),
            )
        parameter = parameter_of(once, values, given, text)
        if once.argument is not None:
            value = coerce(value, once.argument)
        taken = [value, *(values[1:] if once.parameter is None else [])]
        names, computed = _columns(taken)
        more = "" if parameter is None else f", {parameter!r}"
        name = f"{once.name}({', '.join(f'{element}.{n}' for n in names)}{more}){over}"
        made = AggregateCall(name, once, names, kind, parameter)
        return Tally(element, made, value.type), computed

    def _of_own(
        self,
        versions: Versions,
        call: exp.Anonymous,
        element: str,
        column: exp.Expr | None,
        over: str,
        elements: Elements,
    ) -> tuple[Tally, tuple[tuple[str, Expression], ...]]:
        routine = versions.base or versions.window
        assert routine is not None
        given: list[exp.Expr] = list(call.expressions)
        for part in given:
            if isinstance(part, exp.Distinct | exp.Order):
                raise MillstreamError(
                    f'aggregate "{routine.name}" takes no DISTINCT and no ORDER BY here',
                    place_of(part, self.tuples.text),
                    hint="Leave it out: it is fed the tuples in their order.",
                )
        if len(given) == 1 and _is_whole(given[0]):
            if routine.arguments:
                first = elements.columns.names[0]
                raise MillstreamError(
                    f"{to_sql(call)} does not say which column",
                    hint=f"Write {routine.name}({_star(given[0])}.{first}).",
                )
            given = []
        inside, given = self._bound(call, given, elements)
        values = own_arguments(routine, call, given, inside)
        names, computed = _columns(values)
        at = column_of(routine, call, column, self.tuples.text)
        shown = ", ".join(f"{element}.{name}" for name in names) or element
        more = "" if column is None else f".{routine.returns[at][0]}"
        name = f"{routine.name}({shown}){more}{over}"
        return Tally(element, OwnCall(name, routine, names, at)), computed


def _used(call: exp.Anonymous, elements: Elements) -> list[exp.Expr]:
    """The parts of the arguments that are about elements."""
    found: list[exp.Expr] = []
    stack: list[exp.Expr] = list(call.expressions)
    while stack:
        part = stack.pop()
        if elements.names_element(part):
            found.append(part)
        else:
            stack += list(part.iter_expressions())
    return found[::-1]


def _element_of(part: exp.Expr) -> str:
    if isinstance(part, exp.Dot):
        part = next(part.find_all(exp.Identifier, bfs=False))
    if isinstance(part, StarOf):
        return part.this.name
    return part.text("table") or part.name


def _star(part: exp.Expr) -> str:
    """An element without a column, as it is written."""
    return ("*" if isinstance(part, StarOf) else "") + _element_of(part)


def _is_whole(part: exp.Expr) -> bool:
    """Whether it is an element without a column."""
    if isinstance(part, StarOf):
        return part.args.get("column") is None
    return isinstance(part, exp.Column) and not part.table


def _of_tuple(part: exp.Expr, call: exp.Anonymous, elements: Elements) -> exp.Expr:
    """An argument with the columns of a tuple in place of those of the element."""

    def column(node: exp.Expr) -> exp.Expr:
        about = isinstance(node, exp.Column) and elements.is_about(node)
        if not isinstance(node, StarOf) and not about:
            return node
        if _is_whole(node):
            name = _element_of(node)
            raise MillstreamError(
                f'element "{name}" in {to_sql(call)} is a tuple, and no value',
                hint=f"Write {name}.{elements.columns.names[0]}, with a column.",
            )
        written = node.args["column"] if isinstance(node, StarOf) else node.this
        name = elements.column(written.name, elements.known(_element_of(node)).name).name
        made = exp.Column(this=exp.to_identifier(name, quoted=True))
        made.meta.update(node.meta)
        return made

    return part.transform(column)


def _columns(
    values: Sequence[Expression],
) -> tuple[tuple[str, ...], tuple[tuple[str, Expression], ...]]:
    """The columns that hold values, and those of them that have to be computed."""
    names = [v.name if isinstance(v, Column) else f"#{v}" for v in values]
    computed = {n: v for n, v in zip(names, values) if not isinstance(v, Column)}
    return tuple(names), tuple(computed.items())


def column_of(routine: Routine, call: exp.Anonymous, column: exp.Expr | None, text: str) -> int:
    """Which column of its result a call stands for."""
    names = [name for name, _ in routine.returns]
    if column is None:
        if len(names) > 1:
            raise MillstreamError(
                f'aggregate "{routine.name}" gives {len(names)} columns where one value must stand',
                name_place_of(call, text),
                hint=f"Name one of them: {to_sql(call)}.{names[0]}.",
            )
        return 0
    for at, name in enumerate(names):
        if name.lower() == column.name.lower():
            return at
    raise no_such_column(routine.name, column.name, names).at(place_of(column, text))


def _frame(node: exp.Window) -> int | None:
    """How many tuples before the last one a window of rows holds."""
    frame: OverFrame | None = node.args.get("spec")
    plain = frame is not None and frame.kind == "rows" and frame.slide is None and not frame.active
    if not plain or node.args.get("partition_by") or node.args.get("order"):
        raise MillstreamError(
            "a window over the tuples of a star is one of rows",
            hint="Write f(Y.c) OVER (ROWS 4 PRECEDING).",
        )
    assert frame is not None
    return None if frame.length is None else int(str(frame.length))
