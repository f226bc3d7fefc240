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
from millstream.algebra.time import INFINITY, Span
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

    State: nothing over an operator whose own state shows the rows present, as groups do. Otherwise
    the rows present: those with a known end wait for it, and are dropped with their chunk; open
    ones are a log that is written anew, without retracted rows, when it has doubled.
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
        return (
            StatePart("content", "rows without a known end", Structure.LIST, Extent.ROWS),
            ending("ending"),
        )

    @cached_property
    def is_shown(self) -> bool:
        """Whether the content is read from the state of an operator below."""
        return self.input.can_snapshot

    def recalled(self, load: Load, span: Span) -> State:
        """Its state; the rows that were read from below, when that was carried out otherwise."""
        own = load(self.state_name)
        rows = None if own or self.is_shown else self.input.snapshot(load, span.start)
        return own if rows is None else self._with({}, rows, span.start)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        kept = {} if self.is_shown else self._with(state, changes, span.end)
        return kept, Changes.empty(self.schema)

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
        self, states: Mapping[str, State], heartbeat: int, wanted: Wanted = NOTHING
    ) -> pa.RecordBatch:
        """The rows present at the heartbeat, out of the states of one bucket of its level; those
        that are not wanted may be left out."""
        own, load = states.get(self.state_name, {}), lambda name: states.get(name, {})
        rows = None if own else self.input.snapshot(load, heartbeat, wanted)
        if rows is None:
            logs = [own.get(name, Log()) for name in ("content", "ending")]
            parts = [wanted_of(part, wanted) for log in logs for part in log.all()]
            rows = Changes.concat(parts, self.schema)
        rows = rows.keep(rows.exp > heartbeat)
        return settle(replace(rows, ts=np.full(len(rows), heartbeat))).rows


def _grown(log: Log, rows: Changes, end: int) -> Log:
    """The log of open rows with more of them."""
    log = log.after(end)
    grown = log.append(rows, rows.exp)
    if grown.rows <= FEW or grown.rows <= 2 * (log.chunks[0].rows if log.chunks else 0):
        return grown
    whole = compact(Changes.concat(grown.all(), rows.schema))
    return Log().append(whole, whole.exp)
