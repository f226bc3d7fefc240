"""Calls with OVER: from the select list to a stream of elements with a column for each call."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.aggregates.call import AggregateCall
from millstream.aggregates.count import COUNT
from millstream.aggregates.ranking import DENSE_RANK, LAG, RANK
from millstream.algebra.expressions import Call, Case, Column, Expression, Literal
from millstream.algebra.frame import Frame, Units
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, INTEGER, NULL
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.over_messages import (
    no_call,
    no_frame_of,
    not_of_time,
    several_windows,
    wrong_distance,
)
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.queries.frames import frame_of, named_windows, time_columns
from millstream.bind.queries.grouping import Grouping
from millstream.errors import MillstreamError, Place
from millstream.lang import place_of
from millstream.operators import Over, Project
from millstream.operators.project import handed_on

EVERY = Frame(Units.ROWS)
"""All rows up to the current one."""


@dataclass(frozen=True)
class Window:
    """What calls share: the values that make a partition, and the frame."""

    partition: tuple[Expression, ...]
    frame: Frame


@dataclass
class Overs:
    """Collects the calls with OVER of a query while its expressions are bound.

    Law: equal calls are one column; calls over equal windows share an operator.
    """

    expressions: Expressions
    select: exp.Select
    stream: Node | None
    """What stands in FROM, for the time of its rows."""
    windows: dict[Window, Grouping] = field(default_factory=dict)
    columns: dict[tuple[Window, str], AggregateCall] = field(default_factory=dict)
    places: dict[Window, Place | None] = field(default_factory=dict)
    arguments: dict[str, Expression] = field(default_factory=dict)

    def call(self, node: exp.Window) -> Expression:
        """Take a call: a column of Over stands for it."""
        text = self.expressions.text
        inner = node.this.this if isinstance(node.this, exp.Filter) else node.this
        if not isinstance(inner, exp.Anonymous):
            raise no_call(node).at(place_of(node, text))
        name = inner.name.lower()
        window = self.window(node)
        if (aggregate := self.expressions.aggregates(name)) is not None:
            self._note_frame(node, window)
            grouping = self._grouping(window)
            return self._column(
                window, grouping.aggregate(inner, aggregate, list(inner.expressions))
            )
        if isinstance(node.this, exp.Filter):
            return self.expressions.bind(node.this)  # FILTER is for aggregates
        if name in ("row_number", "rank", "dense_rank"):
            self._refuse_frame(name, node, window)
            called = {"row_number": COUNT, "rank": RANK, "dense_rank": DENSE_RANK}[name]
            if inner.expressions:
                raise MillstreamError(
                    f"{name} takes no arguments",
                    place_of(inner, text),
                    hint=f"Write {name}() OVER (…).",
                )
            return self._made(window, AggregateCall("", called, (), INTEGER))
        if name == "lag":
            self._refuse_frame(name, node, window)
            return self._lag(window, inner)
        raise no_call(node).at(place_of(node, text))

    def plan(self, stream: Node) -> Node:
        """The stream with a column for every call: an operator for each window."""
        computed = {
            name: value for name, value in self.arguments.items() if not isinstance(value, Column)
        }
        names: dict[Expression, str] = {value: name for name, value in computed.items()}
        for window in self.windows:
            for value in window.partition:
                if not isinstance(value, Column):
                    names.setdefault(value, f"#part{len(names)}")
        if names:
            made = tuple((name, value) for value, name in names.items())
            stream = Project((*handed_on(stream.schema), *made), stream)
        for window in self.windows:
            partition = tuple(
                dict.fromkeys(
                    v.name if isinstance(v, Column) else names[v] for v in window.partition
                )
            )
            calls = tuple(
                replace(call, arguments=tuple(self._named(name, names) for name in call.arguments))
                for (mine, _), call in self.columns.items()
                if mine == window
            )
            stream = Over(partition, window.frame, calls, stream)
        return stream

    def check(self) -> None:
        """A slide or active expiration decides which rows there are: there can be one."""
        if len(self.windows) > 1 and not all(w.frame.plain for w in self.windows):
            place = next(p for w, p in self.places.items() if not w.frame.plain)
            raise several_windows().at(place)

    def _named(self, argument: str, names: dict[Expression, str]) -> str:
        value = self.arguments.get(argument)
        if value is None:
            return argument
        return value.name if isinstance(value, Column) else names[value]

    def window(self, node: exp.Window) -> Window:
        text = self.expressions.text
        window = named_windows(self.select, node, text)
        inside = replace(self.expressions, clause="PARTITION BY", aggregate=None, over=None)
        inside = replace(inside, subquery=None)
        partition = [inside.bind(part) for part in window.args.get("partition_by") or ()]
        values = tuple(coerce(p, INTEGER) if p.type == NULL else p for p in partition)
        assert self.stream is not None
        order = window.args.get("order")
        if order is not None:
            known = time_columns(self.stream, self.expressions.scope)
            keys = order.expressions
            bound = [inside.bind(key.this) for key in keys]
            is_time = len(keys) == 1 and isinstance(bound[0], Column) and bound[0].name in known
            if not is_time or keys[0].args.get("desc"):
                raise not_of_time(keys, is_time, known, self.expressions.scope).at(
                    place_of(order, text)
                )
        return Window(values, frame_of(window, self.stream, text))

    def _note_frame(self, node: exp.Window, window: Window) -> None:
        self.places.setdefault(window, place_of(node, self.expressions.text))

    def _refuse_frame(self, name: str, node: exp.Window, window: Window) -> None:
        """Places are counted in all that came before; a frame would be ignored."""
        if window.frame != EVERY:
            raise no_frame_of(name).at(place_of(node, self.expressions.text))
        self._note_frame(node, window)

    def _grouping(self, window: Window) -> Grouping:
        if window not in self.windows:
            inside = replace(self.expressions, over=None, subquery=None)
            self.windows[window] = Grouping(inside, arguments=self.arguments)
        return self.windows[window]

    def _column(self, window: Window, found: Expression) -> Expression:
        """The column for a call that the grouping of its window has taken."""
        assert isinstance(found, Column)
        calls = self.windows[window].calls.values()
        call = next(c for c in calls if c.name == found.name)
        return self._made(window, call)

    def _made(self, window: Window, call: AggregateCall) -> Expression:
        self._grouping(window)
        known = (window, str(replace(call, name="")))
        if known not in self.columns:
            self.columns[known] = replace(call, name=f"#over{len(self.columns)}")
        return Column(self.columns[known].name, call.type)

    def _lag(self, window: Window, node: exp.Anonymous) -> Expression:
        """lag(x, n) is the row that the current one drives out of a frame of n rows."""
        given, text = list(node.expressions), self.expressions.text
        inside = replace(
            self.expressions, clause='function "lag"', aggregate=None, over=None, subquery=None
        )
        if not 1 <= len(given) <= 3:
            raise wrong_distance(len(given)).at(place_of(node, text))
        value = inside.bind(given[0])
        value = coerce(value, INTEGER) if value.type == NULL else value
        distance = inside.bind(given[1]) if len(given) > 1 else Literal(1, INTEGER)
        if not (
            isinstance(distance, Literal)
            and isinstance(distance.value, int)
            and 0 <= distance.value < 2**40
        ):
            raise wrong_distance(None).at(place_of(given[1], text))
        if distance.value == 0:
            return value
        before = replace(window, frame=Frame(Units.ROWS, distance.value - 1))
        argument = self._grouping(before).argument(value)
        found = self._made(before, AggregateCall("", LAG, (argument,), value.type))
        if len(given) < 3:
            return found
        written = (given[0], given[2])
        values = [value, inside.bind(given[2])]
        kind = inside.calls.common(values, written, "the values of lag")
        number = self._made(window, AggregateCall("", COUNT, (), INTEGER))
        is_there = Call(">", (number, distance), BOOLEAN)
        return Case(((is_there, coerce(found, kind)),), coerce(values[1], kind), kind)
