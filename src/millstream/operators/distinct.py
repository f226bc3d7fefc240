"""Distinct: one copy of every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes, forever
from millstream.algebra.facts import Arrival
from millstream.algebra.identity import identity_of_values
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import NOTHING, Distribution, Load, Node, Step, Wanted
from millstream.algebra.pattern import weak
from millstream.algebra.state_parts import StatePart, counted
from millstream.algebra.time import INFINITY, Span
from millstream.columns.tally import PRESENT
from millstream.operators.counted import as_counts, count_values, counts_of
from millstream.state.chunks import Log, State
from millstream.state.emitted_values import Values
from millstream.state.waiting import add_waiting


@dataclass(frozen=True, eq=False)
class Distinct(Node):
    """DISTINCT: one copy of every row that is present, as long as any copy is.

    State: the counts of the values present, and the rows whose expiration lies ahead.
    Cost: the batch and what falls due.
    """

    follows_content: ClassVar[bool] = True
    takes_at_once: ClassVar[bool] = True

    removes_copies: ClassVar[bool] = True
    state_parts: ClassVar[tuple[StatePart, ...]] = counted("")

    input: Node

    @property
    def key(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.schema.names) if self.input.key is None else self.input.key

    @property
    def required_distribution(self) -> Distribution:
        return tuple(self.schema.names)

    def lives(self, given: Lifetime) -> Lifetime:
        label = weak((given.pattern,), "a value leaves with the last of its copies")
        opened = left_open(label, bounded=given.bounded, transient=given.transient)
        return replace(opened, consolidated=False)

    @property
    def arrival(self) -> Arrival:
        return Arrival.IGNORED

    @property
    def row_limit(self) -> int | None:  # type: ignore[override]
        return self.input.row_limit

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if not _left_by_delta_star(state):
            return count_values(state, (changes,), PRESENT, self.schema, span, self.state_layout)
        if span.end == span.start:
            return state, changes
        state, restated = self._from_delta_star(state, span)
        state, out = count_values(state, (changes,), PRESENT, self.schema, span, self.state_layout)
        return state, Changes.concat([restated, out], self.schema)

    def snapshot(self, load: Load, instant: int, wanted: Wanted = NOTHING) -> Changes | None:
        state = load(self.state_name)
        if _left_by_delta_star(state):
            return Values.of(state, self.schema).snapshot(instant)
        if "counts 0" not in state:
            return None
        rows = counts_of(state["counts 0"], self.schema).rows
        count, ones = rows.num_rows, np.ones(rows.num_rows, np.int64)
        now, seq = np.full(count, instant), identity_of_values(rows, count)
        return Changes(rows, now, forever(count), ones, seq)

    def _from_delta_star(self, state: State, span: Span) -> Step:
        """State that DeltaStar left, as counts. Values that it emitted with an end are emitted
        open from now on, so that the two sums are the same."""
        values = Values.of(state, self.schema).after(span.start)
        rows, count = values.rows, len(values)
        now, ones = np.full(count, span.start + 1), np.ones(count, np.int64)
        seq = identity_of_values(rows, count)
        copies = Changes(rows, now, values.until, ones, np.zeros(count, np.int64))
        closed = Changes(rows, now, values.emitted, -ones, seq)
        opened = Changes(rows, now, forever(count), ones, seq)
        ending = values.emitted != INFINITY
        restated = [closed.keep(ending & (values.emitted > span.start + 1)), opened.keep(ending)]
        return {
            "counts 0": as_counts(copies, span.start),
            "due 0": add_waiting(
                self.state_layout.buffer, Log(), copies.keep(values.until != INFINITY), span.start
            ),
        }, Changes.concat(restated, self.schema)


def _left_by_delta_star(state: State) -> bool:
    return "values" in state or "known" in state
