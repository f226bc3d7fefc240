"""Recomputed: aggregates of one's own over the groups of a relation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, no_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.node import Node, Step
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import Span
from millstream.blocks.choose import machine_for
from millstream.blocks.layout import gives_one_row
from millstream.blocks.machine import Failure, Fed, Frame, Instances, Rows
from millstream.columns.followed import first_at_least
from millstream.columns.order import canonical_order
from millstream.operators.failures import FAILED, failed_rows
from millstream.operators.fed import FedCall
from millstream.operators.feed_rows import Returned, by_event, product
from millstream.operators.groups_anew import GroupsAnew, Moments
from millstream.operators.maintained import Fold
from millstream.state.chunks import Log, State
from millstream.state.events import Events, unfold
from millstream.state.ordered_run import Order


@dataclass(frozen=True, eq=False)
class Recomputed(GroupsAnew):
    """`f(x) … GROUP BY k`, f an aggregate of one's own: the groups of a relation, computed anew.

    Law: at τ a group has the combinations of what the calls give when they are fed its rows at τ,
    in the order of time, then of arrival. With `newest`, a call gives what it returns while the
    last row is fed, and by TERMINATE; else all that it returns. A group without rows has none.
    `by_expire`, a group has what its window version returns at the last event of an instant, being
    fed what enters and what leaves: rows leave in the order in which they came.
    State: the rows of every group, and the rows that are shown. Cost: for every instant at which
    something enters or leaves a group, the rows of that group.
    """

    keys: tuple[str, ...]
    calls: tuple[FedCall, ...]
    newest: bool
    by_expire: bool
    input: Node

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        shown = StatePart("shown", "rows that are shown", Structure.HASH, Extent.GROUPS)
        if not self.by_expire:
            rows = StatePart("rows", "rows of the groups", Structure.HASH, Extent.ROWS)
            return (rows, shown, ending())
        words = "instances of the groups"
        names = self._fold.kept.parts
        kept = (StatePart(name, words, Structure.GROUPS, Extent.GROUPS) for name in names)
        return (*kept, shown, ending())

    @cached_property
    def _fold(self) -> Fold:
        return Fold(self._key_schema, self.calls, self.state_layout.native)

    @cached_property
    def schema(self) -> pa.Schema:
        results = [f for call in self.calls for f in call.results]
        return pa.schema([*self._key_schema, *results])

    @property
    def key(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The keys, if every call gives one row at most."""
        return self.keys if all(gives_one_row(call.routine) for call in self.calls) else None

    @property
    def grouped_by(self) -> tuple[str, ...]:
        return self.keys

    @property
    def words(self) -> str:
        calls = ", ".join(call.words(self.time_domain) for call in self.calls)
        by = f"by {', '.join(map(name_text, self.keys))}: " if self.keys else ""
        how = "maintained " if self.by_expire else "newest " if self.newest else ""
        return f"{how}{by}{calls}"

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if not self.by_expire:
            return super().step(state, changes, span)
        due, events = unfold(state.get("due", Log()), changes, span, self.state_layout)
        return self._maintained({**state, "due": due}, events)

    def _maintained(self, state: State, events: Events) -> Step:
        """Feed instances what enters and what leaves."""
        if len(events.starts) + len(events.ends) == 0:
            return state, Changes.empty(self.schema)
        run, parts, returned, failures, _ = self._fold.run(state, events)
        moments = Moments.of(run.partition, run.instants, run.partitions)
        event, columns = product(returned)
        group = run.partition[event]
        found = first_at_least(moments.instant, moments.starts, group, run.instants[event])
        order = np.argsort(found, kind="stable")
        columns = [column.take(pa.array(order)) for column in columns]
        shown, out = self._show(state, run, moments, found[order], columns)
        if failures:
            parts[FAILED] = failed_rows(run.arrivals, failures)
        return {**state, **parts, "shown": shown}, out

    def _places(self, rows: Changes, earliest: np.ndarray) -> np.ndarray:
        return canonical_order([earliest, rows.arrival], rows.rows)

    def _given(
        self, rows: Changes, moment: np.ndarray, moments: Moments, span: Span
    ) -> tuple[np.ndarray, list[pa.Array], pa.RecordBatch]:
        """What the calls give at every moment, as a product; and of the rows that are new, those
        that a call could not take."""
        starts = np.searchsorted(moment, np.arange(len(moments.group) + 1))
        events = np.arange(len(rows))
        order = Order(events, starts, moments.instant[moment], len(rows))
        number = events - starts[moment] + 1
        wanted = None
        if self.newest:
            wanted = np.zeros(len(rows), np.bool_)
            wanted[starts[1:][starts[1:] > starts[:-1]] - 1] = True
        returned, failures = [], list[tuple[str, Failure]]()
        for call in self.calls:
            machine = machine_for(call.routine, call.ending, Frame(), self.state_layout.native)
            arguments = tuple(rows.rows.column(name) for name in call.arguments)
            none = np.zeros(0, np.int64)
            tables = tuple(Rows(none, no_rows(schema)) for _, schema in machine.tables)
            before = Instances(no_rows(machine.slots), tables)
            ran = machine.run(Fed(order, arguments, number, wanted), before, len(moments.group))
            failures += [
                (call.routine.name, f) for f in ran.failed if rows.ts[f.event] > span.start
            ]
            mine = by_event(ran.event, ran.rows)
            returned.append(Returned(moment[mine.event], mine.rows))
        return *product(returned), failed_rows(rows, failures)
