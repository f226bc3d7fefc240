"""Windows by time that need no state: Now, Range, Unbounded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from millstream.algebra.changes import Changes, forever
from millstream.algebra.node import Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.time import Span
from millstream.state.chunks import State


@dataclass(frozen=True, eq=False)
class Now(Node):
    """`[Now]`: an element is in the window at its own instant only. No state."""

    stateless: ClassVar[bool] = True
    monotonic: ClassVar[bool] = False  # type: ignore[assignment]

    input: Node

    @property
    def label(self) -> Label:
        return Label(Pattern.WKS, "every row leaves at the instant after its own")

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return state, changes


@dataclass(frozen=True, eq=False)
class Range(Node):
    """`[Range T]`: an element is in the window from ts up to and including ts + T.

    Its expiration is known on arrival, so nothing is kept here.
    """

    stateless: ClassVar[bool] = True
    monotonic: ClassVar[bool] = False  # type: ignore[assignment]

    length: int
    input: Node

    @property
    def words(self) -> str:
        return str(self.length)

    @property
    def label(self) -> Label:
        return Label(Pattern.WKS, "every row stays for the same time")

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return state, replace(changes, exp=changes.ts + (self.length + 1))


@dataclass(frozen=True, eq=False)
class Unbounded(Node):
    """`[Range Unbounded]`: an element stays for good. No state: it never has to be found again."""

    stateless: ClassVar[bool] = True

    input: Node

    @property
    def label(self) -> Label:
        return Label(Pattern.MON, "rows that have come in never leave")

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return state, replace(changes, exp=forever(len(changes)))
