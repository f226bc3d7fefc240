"""DeltaStar: duplicate elimination for rows whose ends are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes, forever, take_rows
from millstream.algebra.identity import identity_of_values
from millstream.algebra.lifetime import Lifetime, ends_of
from millstream.algebra.node import NOTHING, Distribution, Load, Node, Step, Wanted
from millstream.algebra.pattern import weak
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import DAWN, INFINITY, Span
from millstream.columns.keys import factorize
from millstream.columns.order import stable_order
from millstream.columns.stretches import emit_stretches
from millstream.operators.counted import counts_of
from millstream.operators.distinct import Distinct
from millstream.state.chunks import State
from millstream.state.emitted_values import Values, recall, remember
from millstream.state.events import cancelled, netted


@dataclass(frozen=True, eq=False)
class DeltaStar(Node):
    """DISTINCT over rows that are never retracted: one copy of every row that is present.

    Law: as Distinct. A stretch is emitted with its end; what prolongs it is emitted when that end
    comes. State: for every value present, the end it is known to have and the end it was emitted
    with; the input is not kept. Cost: the batch and the values that fall due.
    """

    follows_content: ClassVar[bool] = True

    removes_copies: ClassVar[bool] = True
    can_snapshot: ClassVar[bool] = True  # type: ignore[assignment]
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("values", "few values, with their ends", Structure.LIST, Extent.VALUES),
        StatePart("known", "many values, with their ends", Structure.HASH, Extent.VALUES),
        StatePart("promised", "ends of many that were emitted", Structure.DUE, Extent.VALUES),
    )

    input: Node

    @cached_property
    def key(self) -> tuple[str, ...]:
        return tuple(self.schema.names) if self.input.key is None else self.input.key

    @property
    def required_distribution(self) -> Distribution:
        return tuple(self.schema.names)

    @cached_property
    def meaning(self) -> str:
        return Distinct(self.input).meaning

    def lives(self, given: Lifetime) -> Lifetime:
        return Lifetime(
            weak((given.pattern,), "a value leaves with the last of its copies"),
            retracts=given.retracts,
            ends=ends_of(given),
            transient=given.transient,
            consolidated=False,
            bounded=given.bounded,
        )

    @property
    def row_limit(self) -> int | None:  # type: ignore[override]
        return self.input.row_limit

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if "counts 0" not in state:
            return self._emit(state, changes, span)
        if span.end == span.start:
            return state, changes
        state, restated = self._from_distinct(state, span)
        state, out = self._emit(state, changes, span)
        return state, Changes.concat([restated, out], self.schema)

    def snapshot(self, load: Load, instant: int, wanted: Wanted = NOTHING) -> Changes | None:
        state = load(self.state_name)
        if "counts 0" in state:
            return Distinct(self.input).snapshot(load, instant)
        return Values.of(state, self.schema).snapshot(instant)

    def _emit(self, state: State, changes: Changes, span: Span) -> Step:
        changes = netted(changes)  # a join may keep rows that another strategy has retracted
        order = stable_order(changes.ts)
        changes = changes if order is None else changes.take(order)
        found = recall(state, changes, span, self.state_layout.buffer)
        before = found.values
        after = replace(before, emitted=before.emitted.copy(), until=before.until.copy())
        code, start, stop = emit_stretches(
            found.codes, changes.ts, changes.exp, after.emitted, after.until, span.end
        )
        rows = take_rows(after.rows, code)
        out = Changes(
            rows, start, stop, np.ones(len(code), np.int64), identity_of_values(rows, len(code))
        )
        return remember(state, before, after, span.end, self.state_layout.buffer), out

    def _from_distinct(self, state: State, span: Span) -> Step:
        """State that Distinct left: every value until the end of its last copy. Values that it
        emitted open are emitted with that end from now on, so that the two sums are the same."""
        counts = counts_of(state["counts 0"], self.schema)
        copies = Changes.concat(state["due 0"].all(), self.schema)
        copies = cancelled(copies.keep(copies.exp > span.start))
        until = _last_ends(counts, copies)
        values = Values(counts.rows, until, until)
        ending = values.take(np.flatnonzero(until != INFINITY))
        count, seq = len(ending), identity_of_values(ending.rows, len(ending))
        now, ones = np.full(count, span.start + 1), np.ones(count, np.int64)
        restated = [
            Changes(ending.rows, now, forever(count), -ones, seq),
            Changes(ending.rows, now, ending.until, ones, seq).keep(ending.until > span.start + 1),
        ]
        taken = values.to_state(span.start, self.state_layout.buffer)
        return taken, Changes.concat(restated, self.schema)


def _last_ends(counts: Changes, copies: Changes) -> np.ndarray:
    """When the last copy of every value leaves; never, if some copies are not among those."""
    both = Changes.concat([counts, copies], counts.schema)
    codes, first = factorize(both.rows.columns, len(both))
    until, known = np.full(len(first), DAWN), np.zeros(len(first), np.int64)
    np.maximum.at(until, codes[len(counts) :], copies.exp)
    np.add.at(known, codes[len(counts) :], copies.weight)
    until[known < np.append(counts.weight, known[len(counts) :])] = INFINITY
    return until[: len(counts)]  # copies of other values are retracted by negative rows
