"""Calls of aggregates of one's own: from the select list to what they are fed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.algebra.expressions import Column, Expression
from millstream.algebra.node import Node
from millstream.bind.expressions.own_arguments import own_arguments
from millstream.bind.expressions.own_messages import (
    blocking,
    no_such_column,
    several_columns,
    too_many_names,
    window_only,
)
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.queries.frames import as_stream
from millstream.bind.queries.overs import Overs, Window
from millstream.blocks.routine import Routine
from millstream.blocks.versions import Versions
from millstream.errors import MillstreamError, Place
from millstream.lang import StreamWindow, name_place_of, place_of, to_sql

Routines = Callable[[str], Versions | None]


@dataclass(frozen=True)
class Asked:
    """A call as it is asked for: the aggregate, its arguments, and its window, if it has one."""

    versions: Versions
    arguments: tuple[Expression, ...]
    window: Window | None = None

    @property
    def routine(self) -> Routine:
        """For its name and its columns, which all versions share."""
        return self.versions.any

    @property
    def is_bounded(self) -> bool:
        return self.window is not None and not self.window.frame.unbounded


@dataclass
class Owns:
    """Collects the calls of aggregates of one's own while the expressions of a query are bound.

    Law: equal calls are one instance.
    """

    expressions: Expressions
    routines: Routines
    overs: Overs
    asked: dict[Asked, int] = field(default_factory=dict)
    nodes: dict[int, exp.Expr] = field(default_factory=dict)

    @property
    def places(self) -> dict[int, Place | None]:
        text = self.expressions.text
        calls = {i: self.call_of(node) or node for i, node in self.nodes.items()}
        return {i: name_place_of(call, text) for i, call in calls.items()}

    def is_fed(self, plan: Node) -> bool:
        """Whether the calls are fed the tuples of a stream, one by one, and give rows while they
        are: they have windows of their own, or FROM has a stream without one."""
        if any(asked.window is not None for asked in self.asked):
            return True
        clause = self.overs.select.args["from_"]
        joins = self.overs.select.args.get("joins") or ()
        windows = [w for part in (clause, *joins) for w in part.find_all(StreamWindow)]
        if windows or as_stream(plan) is None:
            return False
        for asked, number in self.asked.items():
            base, node = asked.versions.base, self.nodes[number]
            if base is None:
                raise window_only(asked.routine).at(self.places[number])
            if base.is_blocking:
                grouped = self.overs.select.args.get("group") is not None
                described = f'stream "{clause.this.alias_or_name}"'
                error = blocking(base, described, to_sql(node), grouped)
                raise error.at(self.places[number])
        return True

    def call_of(self, node: exp.Expr) -> exp.Anonymous | None:
        """The call in a node, alone or with OVER, if it is one of an aggregate of one's own.

        A name that has a window version only means the built-in aggregate elsewhere.
        """
        inner = node.this if isinstance(node, exp.Window) else node
        inner = inner.this if isinstance(inner, exp.Filter) else inner
        if not isinstance(inner, exp.Anonymous) or self.expressions.scope.is_about_elements(inner):
            return None
        name = inner.name.lower()
        versions = self.routines(name)
        if versions is None or not versions.is_aggregate:
            return None
        if versions.base is None and self.expressions.aggregates(name) is not None:
            bounded = isinstance(node, exp.Window) and not self.overs.window(node).frame.unbounded
            return inner if bounded else None
        return inner

    def value(self, node: exp.Expr) -> Expression | None:
        """A call as a value, `f(x)` or `f(x).column`; None for what is no such call."""
        if isinstance(node, exp.Dot):
            return self._member(node)
        if not isinstance(node, exp.Anonymous | exp.Window) or self.call_of(node) is None:
            return None
        columns = self._columns(node)
        if len(columns) > 1:
            call = self.call_of(node)
            assert call is not None
            place = name_place_of(call, self.expressions.text)
            raise several_columns(call.name, [name for name, _ in columns]).at(place)
        return columns[0][1]

    def items(self, node: exp.Expr) -> Sequence[tuple[str, Expression]] | None:
        """The columns of a call that stands alone in the select list, under the names that it is
        given; None for anything else."""
        text = self.expressions.text
        names: list[str] | None = None
        inner = node
        if isinstance(node, exp.Aliases):
            inner, names = node.this, [n.name for n in node.expressions]
        if self.call_of(inner) is None:
            if names is None:
                return None
            raise too_many_names(None, len(names), 1).at(place_of(node, text))
        columns = self._columns(inner)
        if names is None:
            return columns if len(columns) > 1 else None
        if len(names) != len(columns):
            call = self.call_of(inner)
            assert call is not None
            raise too_many_names(call.name, len(names), len(columns)).at(place_of(node, text))
        return [(name, value) for name, (_, value) in zip(names, columns)]

    def _member(self, node: exp.Dot) -> Expression | None:
        call = self.call_of(node.this)
        if call is None:
            return None
        columns, wanted = self._columns(node.this), node.expression.name
        for name, value in columns:
            if name.lower() == wanted.lower():
                return value
        place = place_of(node.expression, self.expressions.text)
        raise no_such_column(call.name, wanted, [name for name, _ in columns]).at(place)

    def _columns(self, node: exp.Expr) -> list[tuple[str, Expression]]:
        """Take a call: the columns of its result."""
        call = self.call_of(node)
        assert call is not None
        versions = self.routines(call.name)
        assert versions is not None
        window = self.overs.window(node) if isinstance(node, exp.Window) else None
        arguments = self._arguments(call, node, versions.any)
        asked = Asked(versions, arguments, window)
        number = self.asked.setdefault(asked, len(self.asked))
        self.nodes.setdefault(number, node)
        return [
            (name, Column(column_name(number, i), kind))
            for i, (name, kind) in enumerate(versions.any.returns)
        ]

    def _arguments(
        self, call: exp.Anonymous, node: exp.Expr, routine: Routine
    ) -> tuple[Expression, ...]:
        text, given = self.expressions.text, list(call.expressions)
        place = name_place_of(call, text)
        inner = node.this if isinstance(node, exp.Window) else node
        if isinstance(inner, exp.Filter) or isinstance(call.parent, exp.Filter):
            raise MillstreamError(
                f'FILTER behind aggregate "{routine.name}" is not supported',
                place,
                hint="Write the condition in WHERE, or give it CASE WHEN condition THEN value END.",
            )
        for part in given:
            if isinstance(part, exp.Distinct | exp.Order):
                word = "DISTINCT" if isinstance(part, exp.Distinct) else "ORDER BY"
                raise MillstreamError(
                    f'aggregate "{routine.name}" takes no {word} here',
                    place_of(part, text),
                    hint="Leave it out: it is fed the rows in the order of time.",
                )
        inside = replace(
            self.expressions,
            clause=f'aggregate "{routine.name}"',
            aggregate=None,
            over=None,
            owns=None,
            subquery=None,
        )
        return own_arguments(routine, call, given, inside)


def column_name(call: int, column: int) -> str:
    """The column of Feed that holds a column of the result of a call."""
    return f"#own{call}_{column}"
