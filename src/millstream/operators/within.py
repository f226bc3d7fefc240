"""Within: the rows of a relation while a condition on them and on Now holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjunction,
    name_text,
)
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Ends, Lifetime
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.now import NOW, Bound, bounds_of
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.points import Points
from millstream.algebra.presence import Presence
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.operators.sync import added_up
from millstream.state.chunks import Log, State
from millstream.state.events import netted
from millstream.state.waiting import add_waiting, due_in

WAITING = StatePart("waiting", "rows that come in later", Structure.DUE, Extent.AHEAD)


@dataclass(frozen=True, eq=False)
class Within(Node):
    """A window written as a condition: the rows that meet it with the instant for Now.

    Law: at τ the output is the rows of the input at τ for which the condition is true with τ for
    `#now`. When a row meets it follows from the row: it is emitted with its end, and nothing ticks.
    `times` are columns that hold the instant at which a row came into what it is made of.
    State: the rows that come in later. Cost: the batch and what falls due.
    """

    keeps_ends: ClassVar[bool] = True
    follows_content: ClassVar[bool] = True

    condition: Expression
    times: tuple[str, ...]
    input: Node
    points: Points | None = None
    """The ticks that `#now` has gone by at τ: it is the last of them. None for every instant."""

    @cached_property
    def presence(self) -> Presence:
        found = Presence.of(self.condition, self.points)
        assert found is not None
        return found

    @property
    def stateless(self) -> bool:  # type: ignore[override]
        return self.presence.is_early

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        return () if self.stateless else (WAITING,)

    @property
    def words(self) -> str:
        came = ", ".join(map(name_text, self.times))
        ticks = "" if self.points is None else f" at {self.points.words(self.time_domain)}"
        return f"{self.condition}{f' by {came}' if came else ''}{ticks}"

    @cached_property
    def ends(self) -> tuple[Bound, ...]:
        """The bounds at which every row leaves."""
        return tuple(bound for bound in self.presence.bounds or () if not bound.first)

    def lives(self, given: Lifetime) -> Lifetime:
        bounds = self.presence.bounds
        if given.monotonic and bounds is not None and not self.ends:
            return replace(given, label=Label(Pattern.MON, "rows that have come in never leave"))
        leaves = bool(self.ends)
        return replace(
            given,
            label=self._label_over(given),
            ends=max(given.ends, Ends.GIVEN),
            transient=given.transient or leaves,
            bounded=given.bounded or leaves,
        )

    def _label_over(self, given: Lifetime) -> Label:
        if given.pattern is Pattern.STR:
            return Label(Pattern.STR, "the input retracts rows", 1)
        if given.pattern is not Pattern.WK and self.stays_alike:
            return Label(Pattern.WKS, "every row stays until the same time after its own")
        return Label(Pattern.WK, "a row leaves when the condition ends, known when it comes")

    @property
    def stays_alike(self) -> bool:
        """Whether how long a row stays after its own instant is the same for all rows."""
        alike = bool(self.ends) and None not in self.lengths
        return alike and self.stateless and self.points is None

    @cached_property
    def lengths(self) -> tuple[int | None, ...]:
        """How long after the instant of a row each of the bounds is; None for another value."""
        return tuple(length_of(bound, self.times) for bound in self.presence.bounds or ())

    def closes(self, last: int) -> int:
        """When the last row has left; of rows that name a time of their own nothing is known."""
        end = last + max((length for length in self.lengths if length is not None), default=0)
        return end if self.points is None else self.points.first_from(end) or end

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival and self.presence.bounds is not None

    def wish_below(self, wish: Distribution) -> Distribution:
        return wish

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted | (columns_of(self.condition) - {NOW}),)

    @property
    def row_limit(self) -> int | None:  # type: ignore[override]
        return self.input.row_limit

    @property
    def value_limit(self) -> int | None:  # type: ignore[override]
        return self.input.value_limit

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        cut = self.presence.cut(changes)
        if self.stateless:
            return state, cut
        log: Log = state.get("waiting", Log())
        now, later = cut.split(cut.ts, span.end)
        due = due_in(self.state_layout.buffer, log, span, "ts")
        out = netted(Changes.concat([*due, now], self.schema))
        waiting = add_waiting(self.state_layout.buffer, log, later, span.end, "ts")
        return {"waiting": added_up(waiting)}, out.in_time_order()


def length_of(bound: Bound, times: tuple[str, ...]) -> int | None:
    """How long after the instant in one of these columns the bound is."""
    match bound.at:
        case Column(name=name):
            return bound.plus if name in times else None
        case Call(function="+" | "-" as sign, arguments=(Column(name=name), Literal() as length)):
            found = exact(length)
            if name not in times or found is None:
                return None
            return bound.plus + (found if sign == "+" else -found)
    return None


def is_past(part: Expression, times: Sequence[str]) -> bool:
    """Whether a condition says that a row has come: that is so as soon as it is there."""
    lengths = [(b.first, length_of(b, tuple(times))) for b in bounds_of(part) or ()]
    return bool(lengths) and all(first and n is not None and n <= 0 for first, n in lengths)


def exact(length: Literal) -> int | None:
    """A constant length of time, in units of instants."""
    match length.value:
        case bool():
            return None
        case int() as number:
            return number
        case dt.timedelta() as spell:
            return spell // dt.timedelta(microseconds=1)
    return None


def during(parts: Sequence[Expression], times: Sequence[str], node: Node) -> Node:
    """The rows of a node while conditions that read Now hold; the node itself if there is none."""
    if not parts:
        return node
    condition = conjunction(list(parts))
    named = tuple(name for name in times if name in columns_of(condition))
    return Within(condition, named, node)
