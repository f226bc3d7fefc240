"""Feed: routines that are fed the tuples of a stream, one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Columns
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.blocks.layout import gives_one_row
from millstream.blocks.machine import Failure
from millstream.operators.failures import FAILED, failed_rows
from millstream.operators.fed import FedCall
from millstream.operators.feed_group import Group, slots_of
from millstream.operators.feed_rows import Returned, product, with_markers, yielded
from millstream.state.chunks import Log, Part, State
from millstream.state.ordered_run import in_order_of_arrival
from millstream.state.waiting import add_waiting, due_in

HELD = "held"
"""The part with the results of slots that have not ended."""


@dataclass(frozen=True, eq=False)
class Feed(Node):
    """Each tuple of a stream with what aggregates of one's own return for it.

    Law: an instance of every call, per partition, is fed its tuples in the order of time, then of
    arrival. A tuple comes out once for every combination of what the calls return while it is fed;
    not at all if one of them returns nothing. A call that slides counts yield tuples only: by rows
    every L-th of the partition; by time the last in every (k·L, (k+1)·L], which comes out at the
    end of that slot. Under active expiration tuples that leave come out, too, when they do.
    State: the instances of every partition, the tuples of the windows, the results of open slots.
    Cost: the batch, what leaves, and the instances of the partitions it brings.
    """

    is_stream: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]
    reach: ClassVar[None] = None  # type: ignore[assignment]

    calls: tuple[FedCall, ...]
    input: Node

    @property
    def words(self) -> str:
        return ", ".join(call.words(self.time_domain) for call in self.calls)

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.input_schema, *(f for call in self.calls for f in call.results)])

    def lives(self, stream: Lifetime) -> Lifetime:
        return elements("what a call has returned stays")

    @property
    def required_distribution(self) -> Distribution:
        """The columns by which all calls are partitioned."""
        first, *others = (call.partition_by for call in self.calls)
        return tuple(name for name in first if all(name in other for other in others))

    @property
    def has_arrival(self) -> bool:
        """A tuple comes out with the number it came with, once if every call gives one row."""
        single = all(gives_one_row(call.routine) and not call.is_active for call in self.calls)
        return self.input.has_arrival and single

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...] | None:
        """Tuples without an arrival of their own come in the order of all their values."""
        if not self.input.has_arrival:
            return None
        used = {n for call in self.calls for n in (*call.arguments, *call.partition_by)}
        return ((wanted & frozenset(self.input_schema.names)) | used,)

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        parts = []
        for group in self._groups:
            names = ", ".join(dict.fromkeys(call.routine.name for call in group.calls))
            for name, has_tuples in group.parts:
                if has_tuples:
                    lies = Structure.DUE if group.one.is_active else Structure.HASH
                    words = f"tuples in the window of {names}"
                    parts.append(StatePart(name, words, lies, Extent.WINDOW))
                else:
                    words = f"instances of {names}"
                    parts.append(StatePart(name, words, Structure.GROUPS, Extent.INSTANCES))
        if self._waiting:
            held = StatePart(HELD, "results of open slots", Structure.DUE, Extent.INSTANCES)
            parts.append(held)
        return tuple(parts)

    def call_of(self, part: str) -> FedCall:
        """One of the calls whose state a part holds."""
        found = (g.one for g in self._groups if part in (name for name, _ in g.parts))
        return next(found, self.calls[0])

    def closes(self, last: int) -> int:
        """When the last slot has ended, and the last tuple left a window that time moves."""
        ends = [last]
        for call in self.calls:
            if call.waits and call.slide is not None:
                ends.append(int(slots_of(np.array([last]), call.slide)[0]))
            if call.frame is not None and call.frame.active and call.frame.length is not None:
                ends.append(last + call.frame.length + 1)
        return max(ends)

    @cached_property
    def _groups(self) -> tuple[Group, ...]:
        """Calls by partitions and window; those in slots also by these."""
        found: dict[object, list[FedCall]] = {}
        for call in self.calls:
            slots = (call.slide, call.ending) if call.restarts else None
            found.setdefault((call.partition_by, call.frame, slots), []).append(call)
        native = self.state_layout.native
        return tuple(
            Group(i, tuple(calls), self.input_schema, native)
            for i, calls in enumerate(found.values())
        )

    @property
    def _waiting(self) -> tuple[FedCall, ...]:
        return tuple(call for call in self.calls if call.waits)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        arrivals = in_order_of_arrival(changes)
        parts: dict[str, Part] = dict(state)
        returned: dict[FedCall, Returned] = {}
        left = arrivals.slice(0, 0)
        failures: list[tuple[str, Failure]] = []
        yields = np.ones(len(arrivals), np.bool_)
        for group in self._groups:
            changed, results, gone, here, refused = group.step(
                state, arrivals, span, self.state_layout
            )
            parts.update(changed)
            returned.update(zip(group.calls, results))
            left = gone if len(gone) else left
            yields &= here
            failures += refused
        event, columns = product([returned[call] for call in self.calls])
        tuples = Changes.concat([arrivals, replace(left, ts=left.exp)], self.input_schema)
        if failures:
            parts[FAILED] = failed_rows(tuples, failures)
        out = self._rows(tuples, event, columns)
        if not self._waiting:
            return parts, out.in_time_order()
        held, out = self._held(state, out, arrivals, event, yields, span)
        return {**parts, HELD: held}, out

    def _rows(self, tuples: Changes, event: np.ndarray, columns: list[pa.Array]) -> Changes:
        if len(event) != len(tuples) or (event != np.arange(len(event))).any():
            tuples = tuples.take(event)
        rows = pa.RecordBatch.from_arrays([*tuples.rows.columns, *columns], schema=self.schema)
        return Changes.elements(rows, tuples.ts, tuples.seq)

    def _held(
        self,
        state: State,
        out: Changes,
        arrivals: Changes,
        event: np.ndarray,
        yields: np.ndarray,
        span: Span,
    ) -> tuple[Log, Changes]:
        """What is held for the ends of slots, and the rows of those that have ended."""
        returns = np.zeros(len(arrivals), np.bool_)
        returns[event] = True
        missing = arrivals.keep(yields & ~returns)
        fresh = with_markers(out.keep(yields[event]), missing, self.schema)
        slide = max(call.slide or 0 for call in self._waiting)
        fresh = replace(fresh, exp=slots_of(fresh.ts, slide))
        log, buffer = state.get(HELD, Log()), self.state_layout.buffer
        assert isinstance(log, Log)
        now, later = fresh.split(fresh.exp, span.end)
        due = Changes.concat([*due_in(buffer, log, span), now], fresh.schema)
        per = self._waiting[0].partition_by
        return add_waiting(buffer, log, later, span.end), yielded(due, per, self.schema)
