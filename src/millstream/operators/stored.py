"""Stored: a relation kept so that its content can be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, wanted_of
from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import NOTHING, Load, Node, Step, Wanted
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import DAWN, INFINITY, Span
from millstream.operators.to_stream import compact, settle
from millstream.state.chunks import Log, State
from millstream.state.waiting import add_waiting

FEW = 4096
"""Logs shorter than this are not worth compacting."""

FEW_OF = 8
"""Of new rows, those that have left already are kept if they are fewer than one in so many: they go
with their chunk, and picking out the others costs more."""


@dataclass(frozen=True, eq=False)
class Stored(Node):
    """`SELECT COMPLETE`: the content of a relation at the heartbeat, to be read at any time.

    With a history it can be read at earlier instants too, as long as that lasts.
    State: nothing over an operator whose own state shows the rows present, as groups do. Otherwise
    the rows present: those with a known end wait for it, and are dropped with their chunk; open
    ones are a log that is written anew, without retracted rows, when it has doubled.
    With a history, all rows that were present since, and what retracted them.
    It has no output. Cost: the batch.
    """

    follows_content: ClassVar[bool] = True

    input: Node

    def lives(self, given: Lifetime) -> Lifetime:
        return passed_on(given)

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        if self.is_shown:
            return ()
        if not self.is_read_last:
            return (
                StatePart("past", "rows as they are and were", Structure.LIST, Extent.ROWS),
                StatePart("since", "when it begins", Structure.LIST, Extent.ONE),
            )
        return (
            StatePart("content", "rows without a known end", Structure.LIST, Extent.ROWS),
            ending("ending"),
        )

    @property
    def is_read_last(self) -> bool:
        """Whether only its last content is ever read."""
        return not self.state_layout.history

    @cached_property
    def is_shown(self) -> bool:
        """Whether the content is read from the state of an operator below."""
        return self.input.can_snapshot and self.is_read_last

    @cached_property
    def keeper(self) -> Node:
        """The operator that keeps the content: this one, or the one below that shows it. What
        stands between them is evaluated when somebody reads."""
        node: Node = self.input if self.is_shown else self
        while node.row_by_row:
            node = node.inputs[0]
        return node

    def recalled(self, load: Load, span: Span) -> State:
        """Its state; the rows that were read from below, or kept otherwise, when that was carried
        out in another way."""
        own = load(self.state_name)
        if self.is_read_last:
            if PAST in own:
                return self._with({}, rows_at(own, self.schema, span.start), span.start)
            rows = None if own or self.is_shown else self.input.snapshot(load, span.start)
            return own if rows is None else self._with({}, rows, span.start)
        if PAST in own:
            return own
        there = rows_at(own, self.schema, span.start) if own else None
        if there is None and self.input.can_snapshot:
            there = self.input.snapshot(load, span.start)
        if there is None or not len(there):
            there = Changes.empty(self.schema)
        return {PAST: Log().append(there, there.exp), SINCE: _mark(span.start)}

    def opened(self, span: Span) -> State:
        return {} if self.is_read_last else {SINCE: _mark(span.end)}

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        out = Changes.empty(self.schema)
        if not self.is_read_last:
            return self._remembering(state, changes, span), out
        return {} if self.is_shown else self._with(state, changes, span.end), out

    def _remembering(self, state: State, changes: Changes, span: Span) -> State:
        """The state with more rows, and those of the past that are still to be told of."""
        since = state.get(SINCE)
        log = state.get(PAST, Log())
        floor = max(span.end - self.state_layout.history, DAWN)
        grown = log.after(floor).append(changes, changes.exp)
        if grown.rows > FEW and grown.rows > 2 * (grown.chunks[0].rows if grown.chunks else 0):
            grown = _without_old_pairs(Changes.concat(grown.all(), self.schema), floor)
        return {PAST: grown, SINCE: _mark(span.start) if since is None else since}

    def _with(self, state: State, changes: Changes, end: int) -> State:
        """The state with more rows."""
        ahead = changes.exp > end
        gone = len(ahead) - np.count_nonzero(ahead)
        rest = changes if gone * FEW_OF < len(ahead) else changes.keep(ahead)
        ending = rest.exp != INFINITY
        content, ends = state.get("content", Log()), state.get("ending", Log())
        if not ending.all():
            content = _grown(content, rest.keep(~ending), end)
        ends = add_waiting(self.state_layout.buffer, ends, rest.keep(ending), end)
        return {"content": content, "ending": ends}

    def content(
        self, states: Mapping[str, State], instant: int, wanted: Wanted = NOTHING
    ) -> pa.RecordBatch:
        """The rows present at an instant, the heartbeat or one that is remembered, out of the
        states of one bucket of its level; those that are not wanted may be left out."""
        own, load = states.get(self.state_name, {}), lambda name: states.get(name, {})
        rows = None if own else self.input.snapshot(load, instant, wanted)
        rows = rows_at(own, self.schema, instant, wanted) if rows is None else rows
        return settle(replace(rows, ts=np.full(len(rows), instant))).rows

    def remembers_from(self, states: Mapping[str, State]) -> int | None:
        """The instant at which what it remembers begins; None when it remembers nothing."""
        mark = states.get(self.state_name, {}).get(SINCE)
        return mark.column(0)[0].as_py() if isinstance(mark, pa.RecordBatch) else None


PAST, SINCE = "past", "since"


def rows_at(state: State, schema: pa.Schema, instant: int, wanted: Wanted = NOTHING) -> Changes:
    """The rows of a stored result at an instant, some of them with weight −1."""
    logs = [state.get(name, Log()) for name in (PAST, "content", "ending")]
    rows = Changes.concat([wanted_of(c, wanted) for log in logs for c in log.all()], schema)
    return rows.keep((rows.ts <= instant) & (rows.exp > instant))


def _without_old_pairs(rows: Changes, floor: int) -> Log:
    """Without rows that had left by the floor, and what retracted them."""
    old = rows.ts <= floor
    kept = Changes.concat([compact(rows.keep(old)), rows.keep(~old)], rows.schema)
    kept = kept.keep(kept.exp > floor)
    return Log().append(kept, kept.exp)


def _mark(instant: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array([instant], pa.int64())], names=[SINCE])


def _grown(log: Log, rows: Changes, end: int) -> Log:
    """The log of open rows with more of them."""
    log = log.after(end)
    grown = log.append(rows, rows.exp)
    if grown.rows <= FEW or grown.rows <= 2 * (log.chunks[0].rows if log.chunks else 0):
        return grown
    whole = compact(Changes.concat(grown.all(), rows.schema))
    return Log().append(whole, whole.exp)
