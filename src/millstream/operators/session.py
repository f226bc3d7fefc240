"""Session: the last complete session of a stream, or of each of its partitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, forever, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lengths import length_text
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import DAWN, INFINITY, Span
from millstream.algebra.window_columns import (
    bounded_by,
    with_window_columns,
    without_window_columns,
)
from millstream.state.by_key import RowByKey
from millstream.state.chunks import Log, State
from millstream.state.last_rows import EVER, LastRows
from millstream.state.ordered_run import OrderedRun, keys_of
from millstream.state.sessions import Sessions
from millstream.state.waiting import add_waiting, due_in

KEPT = 2
"""A session has left when the one after the next begins: the next is complete by then."""


@dataclass(frozen=True, eq=False)
class Session(Node):
    """`[Partition By A, … Session G]`: the rows of the last complete session of every partition.

    Law: a row belongs to the session of the row before it in its partition if that came at most G
    before it, and begins a session otherwise. A session whose last row came at e is complete at
    e + G + 1: then its rows enter, with the instants of its first and last row as `window_start`
    and `window_end`, and those of the session before it leave.
    State: the rows of the newest session and the one before it, by partition, with the session's
    number; the number and last instant of every partition's newest session; when these may end.
    Cost: the batch, and the rows of the sessions that are complete.
    """

    is_window: ClassVar[bool] = True
    keeps_ends: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("rows", "rows of the last two sessions", Structure.HASH, Extent.OWN),
        StatePart("sessions", "the newest session", Structure.GROUPS, Extent.PARTITIONS),
        StatePart("due", "sessions that may end", Structure.DUE, Extent.GAP),
    )

    partition_by: tuple[str, ...]
    gap: int
    input: Node

    @property
    def words(self) -> str:
        columns = ", ".join(name_text(name) for name in self.partition_by)
        gap = length_text(self.gap, self.time_domain)
        return f"Partition By {columns} {gap}" if columns else gap

    @cached_property
    def schema(self) -> pa.Schema:
        return with_window_columns(self.input_schema, self.time_domain)

    @property
    def required_distribution(self) -> Distribution:
        return self.partition_by

    def lives(self, stream: Lifetime) -> Lifetime:
        each = " of the partition" if self.partition_by else ""
        reason = f"a session leaves when the next one{each} is complete"
        return left_open(Label(Pattern.STR, reason), bounded=True)

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        own = without_window_columns(wanted, self.input_schema)
        return (own | frozenset(self.partition_by),)

    def closes(self, last: int) -> int:
        """When the session of a row of the instant `last` is complete at the latest."""
        return last + self.gap + 1

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        buffer, log = self.state_layout.buffer, state.get("due", Log())
        due = Changes.concat(due_in(buffer, log, span), self._key_schema)
        if len(changes) == 0 and len(due) == 0:
            return state, Changes.empty(self.schema)
        arrivals = changes.in_time_order()
        stored = RowByKey(state.get("sessions"), self._sessions_schema, len(self.partition_by))
        known = stored.touched(keys_of(self.partition_by, arrivals, due))
        run = OrderedRun.of(known, self.partition_by, arrivals, due)
        sessions = Sessions.of(run, known, self.gap, span)
        index = self._index(state.get("rows", Log()))
        out = self._emit(index, run, sessions, span)
        keys = replace(
            Changes.elements(run.keys, sessions.last, np.zeros(run.partitions, np.int64)),
            exp=sessions.last + (self.gap + 1),
        )
        may_end = keys.keep(sessions.has_arrivals & (keys.exp > span.end))
        columns = [*run.keys.columns, pa.array(sessions.number), pa.array(sessions.last)]
        now = pa.RecordBatch.from_arrays(columns, schema=self._sessions_schema)
        return {
            "rows": self._kept(index, sessions, span),
            "sessions": stored.after(now.slice(0, 0), now, int(run.touched.sum())),
            "due": add_waiting(buffer, log, may_end, span.end),
        }, out

    @cached_property
    def _key_schema(self) -> pa.Schema:
        return pa.schema([self.input_schema.field(name) for name in self.partition_by])

    @cached_property
    def _sessions_schema(self) -> pa.Schema:
        """The partitions, the number of the newest session of each, and when its last row came."""
        numbers = [pa.field("#number", pa.int64()), pa.field("#last", pa.int64())]
        return pa.schema([*self._key_schema, *numbers])

    def _index(self, log: Log) -> LastRows:
        return LastRows(log, self.input_schema, partition_by=self.partition_by, count=KEPT)

    def _emit(self, index: LastRows, run: OrderedRun, sessions: Sessions, span: Span) -> Changes:
        """The rows of sessions that are complete in the span, and of those that leave with it."""
        ending = np.flatnonzero(sessions.some_end)
        if len(ending) == 0:
            return Changes.empty(self.schema)
        every = np.full(len(ending), EVER)
        old, places = index.numbered_within(take_rows(run.keys, ending), -every, every)
        of_old = sessions.place(ending[places], old.weight)
        needed = of_old >= 0
        rows = Changes.concat([old.keep(needed), sessions.arrivals], self.input_schema)
        session = np.concatenate([of_old[needed], sessions.of_arrivals])
        first = np.full(len(sessions.end), INFINITY)
        last = np.full(len(sessions.end), DAWN)
        np.minimum.at(first, session, rows.ts)
        np.maximum.at(last, session, rows.ts)
        enter, leave = sessions.end[session], sessions.left[session]
        entered = (enter > span.start) & (enter <= span.end)
        left = (enter <= span.start) & (leave > span.start) & (leave <= span.end)
        chosen = np.flatnonzero(entered | left)
        entered, session = entered[chosen], session[chosen]
        moved = replace(
            rows.take(chosen),
            ts=np.where(entered, enter[chosen], leave[chosen]),
            exp=np.where(entered & (leave[chosen] <= span.end), leave[chosen], INFINITY),
            weight=np.where(entered, 1, -1),
        )
        return bounded_by(moved, first[session], last[session], self.schema).in_time_order()

    def _kept(self, index: LastRows, sessions: Sessions, span: Span) -> Log:
        """The rows of sessions that have not left, with those that came."""
        stays = sessions.left[sessions.of_arrivals] > span.end
        numbered = replace(
            sessions.arrivals,
            exp=forever(len(sessions.arrivals)),
            weight=sessions.numbers_of_arrivals,
        )
        return index.with_more(numbered.keep(stays), span.end).log
