"""GroupBy: one row for every group that has rows, with its aggregates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.call import AggregateCall
from millstream.aggregates.entries import Entries
from millstream.aggregates.ordered import ORDERED
from millstream.aggregates.running import RUNNING, TOTALS, total_name
from millstream.algebra.changes import Changes, concat_rows, forever, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Arrival
from millstream.algebra.identity import identity_of_version
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Distribution, Load, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import factorize
from millstream.columns.order import stable_order
from millstream.columns.trace import Trace, follow
from millstream.state.by_key import BagByKey, RowByKey
from millstream.state.chunks import Log, Part, State
from millstream.state.events import Events, settled, unfold

PRESENT = "#present"
"""The column of the groups that counts their rows: a group without any is not in the answer."""

_Moved = tuple[BagByKey, pa.RecordBatch, pa.RecordBatch, int]
"""A bag of values, what of it was looked at in a step, before and after, and how much of that the
step was about."""

SINCE = "#since"
"""The column of the groups that says from which instant on they show the row they show."""


@dataclass(frozen=True, eq=False)
class GroupBy(Node):
    """Aggregates over the rows that are equal in the key columns.

    Law: at every instant, one row for every key among the rows present, with the aggregates over
    them. Without key columns there is always one row, from the first instant of the query on.
    A group's row leaves and enters at every instant at which a row of the group enters or leaves.
    State: per group its totals and the row it shows; for aggregates that need order also its
    values; the rows whose expiration lies ahead. Cost: the batch and what falls due.
    """

    can_snapshot: ClassVar[bool] = True  # type: ignore[assignment]

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
    def required_distribution(self) -> Distribution:
        return self.keys

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        ordered = (call for call in self.calls if call.function in ORDERED)
        return (
            StatePart("groups", "totals and the row shown", Structure.GROUPS, Extent.GROUPS),
            *(
                StatePart(f"values {c.name}", f"values for {c}", Structure.SORTED, Extent.COLLECTED)
                for c in ordered
            ),
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
        by_order = any(call.depends_on_order for call in self.calls)
        return Arrival.USED if by_order else Arrival.IGNORED

    @cached_property
    def row_limit(self) -> int | None:
        return None if self.keys else 1

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        due, events = unfold(state.get("due", Log()), changes, span, self.state_layout.buffer)
        if not self.input.is_consolidated:
            events = settled(events)
        known = self._known(state)
        groups = known.touched(self._keys_of(events))
        begin = self._begin(groups, span)
        if len(events.starts) + len(events.ends) == 0 and begin is None:
            return {**state, "due": due}, Changes.empty(self.schema)
        batch = _Batch.of(self, groups, events, begin)
        totals = {name: _extended(groups, name, batch.group_count) for name in self._totals}
        shown = np.arange(batch.group_count) < groups.num_rows
        before = totals[PRESENT].copy()
        trace = follow(
            batch.groups, batch.instants, batch.weights, batch.first_ends, totals[PRESENT], shown
        )
        results, bags = self._aggregate(batch, trace, totals, before, state)
        out = self._emit(batch, trace, results, groups)
        kept = np.ones(batch.group_count, np.bool_) if not self.keys else totals[PRESENT] > 0
        now = self._remember(batch, trace, results, totals, groups, kept)
        gone = take_rows(groups, np.flatnonzero(~kept[: groups.num_rows]))
        part = known.after(gone, now, int(batch.touched.sum()))
        values = {
            name: bag.after(before, after, changed, isinstance(part, Log))
            for name, (bag, before, after, changed) in bags.items()
        }
        return {**values, "due": due, "groups": part}, out

    def _known(self, state: State) -> RowByKey:
        return RowByKey(state.get("groups"), self._groups_schema, len(self.keys))

    def _keys_of(self, events: Events) -> pa.RecordBatch:
        """The keys of everything that enters or leaves."""
        sides = [side.rows.select(list(self.keys)) for side in (events.starts, events.ends)]
        return concat_rows(sides, self._key_schema)

    @cached_property
    def _key_schema(self) -> pa.Schema:
        return pa.schema([self.input_schema.field(name) for name in self.keys])

    def snapshot(self, load: Load, instant: int) -> Changes:
        groups = self._known(load(self.state_name)).rows()
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

    @cached_property
    def _totals(self) -> dict[str, type]:
        """The columns of numbers kept per group: each total once, however many calls rest on it."""
        found: dict[str, type] = {PRESENT: np.int64}
        for call in self.calls:
            for total, argument in self._totals_of(call):
                for i, kind in enumerate(TOTALS[total].columns):
                    found[f"#{total} {argument} {i}"] = kind
        return found

    def _totals_of(self, call: AggregateCall) -> list[tuple[str, str]]:
        if call.function not in RUNNING or not call.arguments:
            return []
        argument = call.arguments[0]
        more = total_name(RUNNING[call.function], self.input_schema.field(argument).type)
        return [("count", argument), *([(more, argument)] if more else [])]

    @cached_property
    def _groups_schema(self) -> pa.Schema:
        """Keys, then the row that is shown, then the totals."""
        totals = [
            pa.field(name, pa.from_numpy_dtype(np.dtype(kind)))
            for name, kind in self._totals.items()
        ]
        return pa.schema([*self.schema, *totals, pa.field(SINCE, pa.int64())])

    def _aggregate(
        self,
        batch: _Batch,
        trace: Trace,
        totals: dict[str, np.ndarray],
        before: np.ndarray,
        state: State,
    ) -> tuple[dict[str, pa.Array], dict[str, _Moved]]:
        """What every call comes to in every row of the trace, and what became of ordered values."""
        results: dict[str, pa.Array] = {}
        bags: dict[str, _Moved] = {}
        done: dict[tuple[str, str], tuple[np.ndarray, ...]] = {}
        for call in self.calls:
            if call.function in ORDERED:
                part = f"values {call.name}"
                results[call.name], bags[part] = self._ordered(call, batch, trace, state.get(part))
                continue
            for need in self._totals_of(call):
                if need not in done:
                    done[need] = self._total(need, batch, trace, totals, before)
            needs = [done[need] for need in self._totals_of(call)]
            counts = needs[0][0] if needs else trace.present
            argument = batch.column(call.arguments[0]).type if call.arguments else pa.int64()
            results[call.name] = RUNNING[call.function].finish(
                counts, needs[-1] if len(needs) > 1 else (), argument, call.type
            )
        return results, bags

    def _total(
        self,
        need: tuple[str, str],
        batch: _Batch,
        trace: Trace,
        totals: dict[str, np.ndarray],
        before: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        name, argument = need
        total, values = TOTALS[name], batch.column(argument)
        columns = [totals[f"#{name} {argument} {i}"] for i in range(len(total.columns))]
        if name == "count" and values.null_count == 0 and np.array_equal(before, columns[0]):
            columns[0][:] = totals[PRESENT]  # never NULL so far: its count is that of the rows
            return (trace.present,)
        return total.run(trace, batch.weights, values, columns)

    def _ordered(
        self, call: AggregateCall, batch: _Batch, trace: Trace, part: Part | None
    ) -> tuple[pa.Array, _Moved]:
        ordered = ORDERED[call.function]
        by_names = (*call.arguments[1:], call.arguments[0]) if ordered.by_rest else call.arguments
        fields = [self.input_schema.field(n) for n in (call.arguments[0], *by_names)]
        layout = pa.schema(
            [
                *self._key_schema,
                *[pa.field(f"#{i}", f.type) for i, f in enumerate(fields)],
                ("#count", pa.int64()),
            ]
        )
        width = len(self.keys)
        bag = BagByKey(part, layout, width)
        saved = bag.touched(take_rows(batch.keys, np.flatnonzero(batch.touched)))
        present = Entries(
            batch.group_of(saved.select(list(range(width))), saved.num_rows),
            saved.column(width),
            tuple(saved.column(width + 1 + i) for i in range(len(by_names))),
            saved.column(saved.num_columns - 1).to_numpy(),
        )
        result, left = ordered.run(
            trace,
            batch.weights,
            batch.groups,
            batch.column(call.arguments[0]),
            tuple(batch.column(n) for n in by_names),
            present,
            batch.group_count,
            call.parameter,
        )
        named = take_rows(batch.keys, left.group)
        now = pa.RecordBatch.from_arrays(
            [*named.columns, left.value, *left.by, pa.array(left.count)], schema=layout
        )
        changed = int(batch.touched[left.group].sum())
        return result, (bag, saved, now, changed)

    def _emit(
        self, batch: _Batch, trace: Trace, results: dict[str, pa.Array], groups: pa.RecordBatch
    ) -> Changes:
        """The rows of the trace: what groups showed before, then how they are from time to time.

        Where a group has gone there is a row of weight 0, see `Changes.previous`.
        """
        columns = list(take_rows(batch.keys, trace.row_group).columns)
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
        batch: _Batch,
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
        keys = take_rows(batch.keys, np.flatnonzero(kept))
        numbers = [pa.array(column[kept]) for column in totals.values()]
        since = np.zeros(len(latest), np.int64)
        since[moved] = trace.ts[latest[moved]]
        since[~moved] = groups.column(SINCE).to_numpy()[still]
        return pa.RecordBatch.from_arrays(
            [*keys.columns, *shown, *numbers, pa.array(since)], schema=self._groups_schema
        )


@dataclass(frozen=True, eq=False)
class _Batch:
    """The events of one step: what enters, then what leaves, each in time order.

    The groups of the state have the first numbers.
    """

    events: Events
    instants: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    first_ends: int
    group_count: int
    keys: pa.RecordBatch

    @staticmethod
    def of(node: GroupBy, known: pa.RecordBatch, events: Events, begin: int | None) -> _Batch:
        starts, ends = events.starts, events.ends
        order = stable_order(starts.ts)
        if order is not None:
            starts = starts.take(order)
        if begin is not None:
            starts = _with_beginning(node, starts, begin)
        names = list(node.keys)
        both = concat_rows(
            [known.select(names), starts.rows.select(names), ends.rows.select(names)],
            node._key_schema,
        )
        length = known.num_rows + len(starts) + len(ends)
        codes, first = factorize(both.columns, length)
        return _Batch(
            Events(starts, ends),
            np.concatenate([starts.ts, ends.exp]),
            np.concatenate([starts.weight, -ends.weight]),
            codes[known.num_rows :],
            len(starts),
            len(first) if names else 1,
            take_rows(both, first),
        )

    @cached_property
    def touched(self) -> np.ndarray:
        """Which groups have events."""
        touched = np.zeros(self.group_count, np.bool_)
        touched[self.groups] = True
        return touched

    @cached_property
    def _columns(self) -> dict[str, pa.Array]:
        return {}

    def column(self, name: str) -> pa.Array:
        """A column of what enters and what leaves, put together when it is first asked for."""
        if name not in self._columns:
            parts = [part.rows.column(name) for part in (self.events.starts, self.events.ends)]
            self._columns[name] = pa.concat_arrays(parts)
        return self._columns[name]

    def group_of(self, keys: pa.RecordBatch, length: int) -> np.ndarray:
        """The group of every row of a table of keys, all of which are known."""
        if keys.num_columns == 0:
            return np.zeros(length, np.int64)
        both = concat_rows([self.keys, keys], self.keys.schema)
        return factorize(both.columns, both.num_rows)[0][self.keys.num_rows :]


def _with_beginning(node: GroupBy, starts: Changes, begin: int) -> Changes:
    """The events and one that adds nothing at the first instant: a global row exists from then."""
    nothing = Changes(
        pa.RecordBatch.from_arrays(
            [pa.nulls(1, f.type) for f in node.input_schema], schema=node.input_schema
        ),
        *(np.array([v], np.int64) for v in (begin, INFINITY, 0, 0)),
    )
    both = Changes.concat([nothing, starts], node.input_schema)
    order = stable_order(both.ts)
    return both if order is None else both.take(order)


def _extended(groups: pa.RecordBatch, name: str, count: int) -> np.ndarray:
    """A column of the groups, with zeros for the new ones; free to be changed."""
    column = groups.column(name).to_numpy(zero_copy_only=False)
    out = np.zeros(count, column.dtype)
    out[: len(column)] = column
    return out
