"""Hop: the last complete slot of a stream. Slots lie side by side, overlap, or leave gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.identity import identity_of_pair
from millstream.algebra.lengths import length_text
from millstream.algebra.lifetime import Lifetime, windowed
from millstream.algebra.node import Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import INFINITY, Span
from millstream.algebra.window_columns import (
    bounded_by,
    with_window_columns,
    without_window_columns,
)
from millstream.state.chunks import Log, State
from millstream.state.waiting import add_waiting


@dataclass(frozen=True, eq=False)
class Hop(Node):
    """`[Hop T Every L Offset O]`, and `[Tumble L]` with T = L: the rows of the last complete slot.

    Law: a slot ends at every B = O + k·L. An element is in the slots with B − T ≤ ts < B, each time
    from B until the next slot ends at B + L, with `window_start` B − T and `window_end` B.
    State: the elements that are still to enter. Cost: the batch, and at the end of a slot its rows.

    An element of one slot at most stays what it was. Where slots overlap (T > L), the element of
    each slot is a tuple of its own, known by the element and the slot.
    """

    is_window: ClassVar[bool] = True
    keeps_ends: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("waiting", "rows of slots that are not complete", Structure.DUE, Extent.SLIDE),
    )

    length: int
    every: int
    offset: int
    input: Node

    @property
    def words(self) -> str:
        domain = self.time_domain
        offset = f" Offset {length_text(self.offset, domain)}" if self.offset else ""
        return f"{length_text(self.length, domain)} Every {length_text(self.every, domain)}{offset}"

    @cached_property
    def schema(self) -> pa.Schema:
        return with_window_columns(self.input_schema, self.time_domain)

    @property
    def reach(self) -> int | None:
        return self.length + self.every

    def lives(self, stream: Lifetime) -> Lifetime:
        return windowed(stream, Label(Pattern.WKS, "a slot leaves when the next one is complete"))

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (without_window_columns(wanted, self.input_schema),)

    def closes(self, last: int) -> int:
        """When the last slot ends that holds a row of the instant `last`."""
        return max(self._last_end(last + self.length), last)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        log: Log = state.get("waiting", Log())
        last = self._last_end(changes.ts + self.length)
        fresh = replace(changes, exp=last).keep(last > changes.ts)
        buffer = self.state_layout.buffer
        waiting = add_waiting(buffer, log, fresh.keep(fresh.exp > span.end), span.end)
        if self._last_end(span.end) <= span.start:
            return {"waiting": waiting}, Changes.empty(self.schema)
        kept = Changes.concat(log.touching(span.start, INFINITY), self.input_schema)
        rows = Changes.concat([kept.keep(kept.exp > span.start), fresh], self.input_schema)
        return {"waiting": waiting}, self._slots(rows, span)

    def _slots(self, rows: Changes, span: Span) -> Changes:
        """A copy of every row for each of its slots that ends in the span."""
        first = self._last_end(np.maximum(rows.ts, span.start)) + self.every
        last = np.minimum(rows.exp, self._last_end(span.end))
        copies = np.maximum((last - first) // self.every + 1, 0)
        index = np.repeat(np.arange(len(rows)), copies)
        turn = np.arange(len(index)) - np.repeat(np.cumsum(copies) - copies, copies)
        end = first[index] + turn * self.every
        made = rows.take(index)
        seq = identity_of_pair(made.seq, end) if self.length > self.every else made.seq
        held = replace(made, ts=end, exp=end + self.every, seq=seq)
        return bounded_by(held, end - self.length, end, self.schema).in_time_order()

    def _last_end(self, instant):  # type: ignore[no-untyped-def]
        """The end of the last slot that is complete at an instant, or at each of many."""
        return (instant - self.offset) // self.every * self.every + self.offset
