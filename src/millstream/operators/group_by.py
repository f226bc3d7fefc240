"""GroupBy: one row for every group that has rows, with its aggregates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.call import AggregateCall
from millstream.algebra.changes import Changes, forever, take_rows, those
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Arrival
from millstream.algebra.identity import identity_of_version
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import NOTHING, Distribution, Load, Node, Step, Wanted
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import INFINITY, Span
from millstream.columns.order import stable_order
from millstream.columns.trace import Trace, follow
from millstream.operators.aggregated import PRESENT, Aggregates
from millstream.state.by_key import RowByKey
from millstream.state.chunks import Log, State
from millstream.state.events import settled, unfold
from millstream.state.ordered_run import OrderedRun, keys_of

SINCE = "#since"
"""The column of the groups that says from which instant on they show the row they show."""


@dataclass(frozen=True, eq=False)
class GroupBy(Node):
    """GROUP BY: one row for every group of rows that are equal in the keys, with its aggregates.

    Law: at every instant, one row for every key among the rows present, with the aggregates over
    them. Without key columns there is always one row, from the first instant of the query on.
    A group's row leaves and enters at every instant at which a row of the group enters or leaves.
    State: per group its totals and the row it shows; for aggregates that need order also its
    values; the rows whose expiration lies ahead. Cost: the batch and what falls due.
    """

    can_snapshot: ClassVar[bool] = True  # type: ignore[assignment]
    takes_at_once: ClassVar[bool] = True

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    input: Node
    since: tuple[str, ...] = ()

    @cached_property
    def schema(self) -> pa.Schema:
        fields = [self.input_schema.field(name) for name in self.keys]
        return pa.schema([*fields, *[pa.field(c.name, c.type) for c in self.calls]])

    @property
    def key(self) -> tuple[str, ...]:
        return self.keys

    @property
    def depends_on_order(self) -> bool:
        """Whether the order in which rows arrive matters to one of the aggregates."""
        return any(call.aggregate.order_matters for call in self.calls)

    @property
    def follows_content(self) -> bool:  # type: ignore[override]
        return not self.depends_on_order

    @property
    def required_distribution(self) -> Distribution:
        return self.keys

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        return (
            StatePart("groups", "totals and the row shown", Structure.GROUPS, Extent.GROUPS),
            *self._aggregates.state_parts,
            ending(),
        )

    @property
    def words(self) -> str:
        calls = ", ".join(str(call) for call in self.calls)
        keys = ", ".join(name_text(name) for name in self.keys)
        since = f" since {', '.join(map(name_text, self.since))}" if self.since else ""
        return (f"{keys}: {calls}" if keys else calls) + since

    def lives(self, given: Lifetime) -> Lifetime:
        label = Label(Pattern.WK, "the new row of a group takes the place of the old one", 4)
        return left_open(label, bounded=not self.keys or given.bounded)

    @property
    def arrival(self) -> Arrival:
        """Only aggregates that go by the order of rows look at it."""
        return Arrival.USED if self.depends_on_order else Arrival.IGNORED

    @cached_property
    def row_limit(self) -> int | None:
        return None if self.keys else 1

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        due, events = unfold(state.get("due", Log()), changes, span, self.state_layout)
        if not self.input.is_consolidated and not self.state_layout.at_once:
            events = settled(events)
        known = self._known(state)
        groups = known.touched(keys_of(self.keys, events.starts, events.ends))
        begin = self._begin(groups, span)
        if len(events.starts) + len(events.ends) == 0 and begin is None:
            return {**state, "due": due}, Changes.empty(self.schema)
        run = OrderedRun.of(groups, self.keys, self._from(events.starts, begin), events.ends)
        totals = {name: run.slot(groups, name) for name in self._aggregates.totals}
        before = totals[PRESENT].copy()
        shown = np.arange(run.partitions) < run.known
        along = run.partition, run.instants, run.weights, len(run.arrivals)
        trace = follow(*along, totals[PRESENT], shown)
        results, bags = self._aggregates.run(run, trace, totals, before, state)
        out = self._emit(run, trace, results, groups)
        kept = np.ones(run.partitions, np.bool_) if not self.keys else totals[PRESENT] > 0
        now = self._remember(run, trace, results, totals, groups, kept)
        gone = take_rows(groups, np.flatnonzero(~kept[: run.known]))
        part = known.after(gone, now, int(run.touched.sum()))
        values = {name: moved.after(isinstance(part, Log)) for name, moved in bags.items()}
        return {**values, "due": due, "groups": part}, out

    def _known(self, state: State) -> RowByKey:
        return RowByKey(state.get("groups"), self._groups_schema, len(self.keys))

    @cached_property
    def _aggregates(self) -> Aggregates:
        return Aggregates(self.keys, self.calls, self.input_schema)

    def snapshot(self, load: Load, instant: int, wanted: Wanted = NOTHING) -> Changes:
        known = self._known(load(self.state_name))
        keys = [wanted[name] for name in self.keys if name in wanted]
        if keys and len(keys) == len(self.keys):
            one = [pa.array([key.as_py()], key.type) for key in keys]
            groups = known.touched(pa.RecordBatch.from_arrays(one, list(self.keys)))
        else:
            groups = known.rows()
        groups = those(groups, wanted)
        rows, since = groups.select(self.schema.names), groups.column(SINCE).to_numpy()
        ones = np.ones(len(since), np.int64)
        return Changes(rows, since, forever(len(since)), ones, identity_of_version(since))

    def _begin(self, groups: pa.RecordBatch, span: Span) -> int | None:
        """The instant from which a global aggregate has its row, if that lies in this span.

        For one that was added to a running job it is the first instant it sees.
        """
        if self.keys or groups.num_rows or span.begin is None or span.begin > span.end:
            return None
        return max(span.begin, span.start + 1) if span.end > span.start else None

    def _from(self, starts: Changes, begin: int | None) -> Changes:
        """What enters, in the order of time, and where a global row begins something that adds
        nothing: the row exists from then on."""
        if begin is not None:
            nothing = Changes(
                pa.RecordBatch.from_arrays(
                    [pa.nulls(1, f.type) for f in self.input_schema], schema=self.input_schema
                ),
                *(np.array([v], np.int64) for v in (begin, INFINITY, 0, 0)),
            )
            starts = Changes.concat([nothing, starts], self.input_schema)
        order = stable_order(starts.ts)
        return starts if order is None else starts.take(order)

    @cached_property
    def _groups_schema(self) -> pa.Schema:
        """Keys, then the row that is shown, then the totals."""
        totals = [
            pa.field(name, pa.from_numpy_dtype(np.dtype(kind)))
            for name, kind in self._aggregates.totals.items()
        ]
        return pa.schema([*self.schema, *totals, pa.field(SINCE, pa.int64())])

    def _emit(
        self, run: OrderedRun, trace: Trace, results: dict[str, pa.Array], groups: pa.RecordBatch
    ) -> Changes:
        """The rows of the trace: what groups showed before, then how they are from time to time.

        Where a group has gone there is a row of weight 0, see `Changes.previous`.
        """
        columns = list(take_rows(run.keys, trace.row_group).columns)
        closed = trace.row_group[: trace.closing]
        for call in self.calls:
            before = groups.column(call.name).take(pa.array(closed))
            columns.append(pa.concat_arrays([before, results[call.name].slice(trace.closing)]))
        weight = np.ones(len(trace), np.int64)
        if self.keys:
            weight[trace.present <= 0] = 0
        weight[: trace.closing] = -1
        rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        since = np.concatenate([groups.column(SINCE).to_numpy()[closed], trace.ts[trace.closing :]])
        version = identity_of_version(since)
        return Changes(rows, trace.ts, trace.exp, weight, version, trace.previous)

    def _remember(
        self,
        run: OrderedRun,
        trace: Trace,
        results: dict[str, pa.Array],
        totals: dict[str, np.ndarray],
        groups: pa.RecordBatch,
        kept: np.ndarray,
    ) -> pa.RecordBatch:
        """The groups that still have rows, with their totals and the row they show."""
        latest = trace.latest[kept]
        moved = latest >= 0
        rows = pa.array(latest[moved])
        still = np.flatnonzero(kept)[~moved]
        place = np.where(moved, np.cumsum(moved) - 1, len(rows) + np.cumsum(~moved) - 1)
        shown = [
            pa.concat_arrays(
                [results[c.name].take(rows), groups.column(c.name).take(pa.array(still))]
            ).take(pa.array(place))
            for c in self.calls
        ]
        keys = take_rows(run.keys, np.flatnonzero(kept))
        numbers = [pa.array(column[kept]) for column in totals.values()]
        since = np.zeros(len(latest), np.int64)
        since[moved] = trace.ts[latest[moved]]
        since[~moved] = groups.column(SINCE).to_numpy()[still]
        return pa.RecordBatch.from_arrays(
            [*keys.columns, *shown, *numbers, pa.array(since)], schema=self._groups_schema
        )
