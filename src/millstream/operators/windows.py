"""Windows by time that need no state: Now, Range, Unbounded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from millstream.algebra.changes import Changes, forever
from millstream.algebra.facts import Columns
from millstream.algebra.lengths import length_text
from millstream.algebra.lifetime import Lifetime, windowed
from millstream.algebra.node import Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.time import Span
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class Now(Node):
    """`[Now]`: an element is in the window at its own instant only. No state."""

    stateless: ClassVar[bool] = True
    is_window: ClassVar[bool] = True

    input: Node

    def lives(self, stream: Lifetime) -> Lifetime:
        return windowed(stream, Label(Pattern.WKS, "every row leaves at the instant after its own"))

    def closes(self, last: int) -> int:
        return last + 1

    @property
    def reach(self) -> int | None:
        return 0

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted,)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return state, changes


@dataclass(frozen=True, eq=False)
class Range(Node):
    """`[Range T]`: an element is in the window from ts up to and including ts + T.

    Its expiration is known on arrival, so nothing is kept here.
    """

    stateless: ClassVar[bool] = True
    is_window: ClassVar[bool] = True

    length: int
    input: Node

    @property
    def words(self) -> str:
        return length_text(self.length, self.time_domain)

    @property
    def reach(self) -> int | None:
        return self.length

    def lives(self, stream: Lifetime) -> Lifetime:
        return windowed(stream, Label(Pattern.WKS, "every row stays for the same time"))

    def closes(self, last: int) -> int:
        return last + self.length + 1

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted,)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return state, replace(changes, exp=changes.ts + (self.length + 1))


@dataclass(frozen=True, eq=False)
class Unbounded(Node):
    """`[Range Unbounded]`: an element stays for good. No state: it never has to be found again."""

    stateless: ClassVar[bool] = True
    is_window: ClassVar[bool] = True

    input: Node

    def lives(self, stream: Lifetime) -> Lifetime:
        return windowed(stream, Label(Pattern.MON, "rows that have come in never leave"))

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted,)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return state, replace(changes, exp=forever(len(changes)))
