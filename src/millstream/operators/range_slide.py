"""RangeSlide: a window by time that moves in steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lengths import length_text
from millstream.algebra.lifetime import Lifetime, windowed
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import INFINITY, Span
from millstream.state.chunks import Log, State
from millstream.state.pending import release


@dataclass(frozen=True, eq=False)
class RangeSlide(Node):
    """`[Range T Slide L]`: the content of `[Range T]` as it stood at the last multiple of L.

    Law: an element is in from the first multiple of L at or after ts, and out at the first multiple
    of L after ts + T; one for which these are the same is never in. `length` is None for an
    unbounded range.
    State: the elements whose entrance has not come yet.
    """

    is_window: ClassVar[bool] = True
    keeps_ends: ClassVar[bool] = True
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("waiting", "rows that come in with the next slide", Structure.DUE, Extent.SLIDE),
    )

    length: int | None
    slide: int
    input: Node

    @property
    def words(self) -> str:
        domain = self.time_domain
        length = "Unbounded" if self.length is None else length_text(self.length, domain)
        return f"{length} Slide {length_text(self.slide, domain)}"

    @property
    def reach(self) -> int | None:
        return None if self.length is None else self.length + self.slide

    def lives(self, stream: Lifetime) -> Lifetime:
        if self.length is None:
            return windowed(stream, Label(Pattern.MON, "rows that have come in never leave"))
        reason = "rows leave in the order they came, slot by slot"
        return windowed(stream, Label(Pattern.WKS, reason))

    def closes(self, last: int) -> int:
        """The multiple of L at which the last row leaves; of an unbounded range, comes in."""
        if self.length is None:
            return -(-last // self.slide) * self.slide
        return ((last + self.length) // self.slide + 1) * self.slide

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    def wish_below(self, wish: Distribution) -> Distribution:
        return wish

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted,)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        enter = -(-changes.ts // self.slide) * self.slide
        leave = (
            (changes.exp * 0 + INFINITY)
            if self.length is None
            else ((changes.ts + self.length) // self.slide + 1) * self.slide
        )
        moved = replace(changes, ts=enter, exp=leave)
        waiting, entered = release(state.get("waiting", Log()), moved.keep(enter < leave), span)
        return {"waiting": waiting}, entered.in_time_order()
