"""GroupBy: one row for every group that has rows, with its aggregates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.call import AggregateCall
from millstream.aggregates.ordered import ORDERED, Entries
from millstream.aggregates.running import Running, running
from millstream.algebra.changes import Changes, concat_rows, no_rows, take_rows
from millstream.algebra.node import Node, Spread, Step
from millstream.algebra.state import Log, State
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import factorize
from millstream.columns.order import merge_order, stable_order
from millstream.columns.runs import Runs
from millstream.operators.events import Events, unfold

PRESENT = AggregateCall("#rows", "count", (), pa.int64())
"""How many rows a group has: without any, it has no row in the answer."""


@dataclass(frozen=True, eq=False)
class GroupBy(Node):
    """Aggregates over the rows that are equal in the key columns.

    Law: at every instant, one row for every key among the rows present, with the aggregates over
    them. Without key columns there is always one row, from the first instant of the query on.
    A group's row leaves and enters at every instant at which a row of the group enters or leaves.
    State: per group its totals and the row it shows; for aggregates that need order also its values;
    the rows whose expiration lies ahead. Cost: the batch and what falls due.
    """

    monotonic: ClassVar[bool] = False  # type: ignore[assignment]

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        fields = [self.input_schema.field(name) for name in self.keys]
        return pa.schema([*fields, *[pa.field(c.name, c.type) for c in self.calls]])

    @property
    def key(self) -> tuple[str, ...]:
        return self.keys

    @property
    def needs(self) -> Spread:
        return self.keys

    def spread(self, given: Spread) -> Spread:
        return given

    @property
    def words(self) -> str:
        calls = ", ".join(str(call) for call in self.calls)
        return f"{', '.join(self.keys)}: {calls}" if self.keys else calls

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        due, events = unfold(state.get("due", Log()), changes, span)
        groups = state.get("groups", no_rows(self._groups_schema))
        begin = self._begin(groups, span)
        if len(events.starts) + len(events.ends) == 0 and begin is None:
            return {**state, "due": due}, Changes.empty(self.schema)
        batch = _Batch.of(self, groups, events, begin)
        columns, after, parts = self._aggregate(batch, groups, state)
        out = self._emit(batch, columns, groups)
        return {**parts, "due": due, "groups": self._remember(batch, columns, after, groups)}, out

    def _begin(self, groups: pa.RecordBatch, span: Span) -> int | None:
        """The instant from which a global aggregate has its row, if that lies in this span.

        For one that was added to a running job it is the first instant it sees.
        """
        if self.keys or groups.num_rows or span.begin is None or span.begin > span.end:
            return None
        return max(span.begin, span.start + 1) if span.end > span.start else None

    @property
    def _all_calls(self) -> tuple[AggregateCall, ...]:
        return (PRESENT, *self.calls)

    def _running(self, call: AggregateCall) -> Running | None:
        argument = self.input_schema.field(call.arguments[0]).type if call.arguments else None
        return running(call.function, argument)

    def _totals_of(self, call: AggregateCall) -> tuple[type, ...]:
        method = self._running(call)
        return method.totals if method is not None else ()

    @cached_property
    def _groups_schema(self) -> pa.Schema:
        """Keys, then what is shown, then the totals of the running aggregates."""
        totals = [
            pa.field(f"#{call.name}#{i}", pa.from_numpy_dtype(np.dtype(kind)))
            for call in self._all_calls
            for i, kind in enumerate(self._totals_of(call))
        ]
        return pa.schema([*self.schema, pa.field("#shown", pa.int64()), *totals])

    def _aggregate(
        self, batch: _Batch, groups: pa.RecordBatch, state: State
    ) -> tuple[dict[str, pa.Array], dict[str, np.ndarray], dict[str, pa.RecordBatch]]:
        """The result of every call after every run, the totals, and the ordered values after all."""
        results: dict[str, pa.Array] = {}
        after: dict[str, np.ndarray] = {}
        parts: dict[str, pa.RecordBatch] = {}
        for call in self._all_calls:
            values = batch.column(call.arguments[0]) if call.arguments else None
            method = self._running(call)
            if method is not None:
                names = [f"#{call.name}#{i}" for i in range(len(method.totals))]
                totals = [_extended(groups, name, batch.group_count) for name in names]
                results[call.name] = method.run(
                    batch.runs, batch.weights, values, totals, call.type
                )
                after.update(zip(names, totals))
            else:
                part = f"values {call.name}"
                results[call.name], parts[part] = self._ordered(call, batch, state.get(part))
        return results, after, parts

    def _ordered(
        self, call: AggregateCall, batch: _Batch, saved: pa.RecordBatch | None
    ) -> tuple[pa.Array, pa.RecordBatch]:
        ordered = ORDERED[call.function]
        by_names = (*call.arguments[1:], call.arguments[0]) if ordered.by_time else call.arguments
        fields = [self.input_schema.field(n) for n in (call.arguments[0], *by_names)]
        keys = [self.input_schema.field(n) for n in self.keys]
        layout = pa.schema(
            [*keys, *[pa.field(f"#{i}", f.type) for i, f in enumerate(fields)], ("#count", pa.int64())]
        )
        saved = no_rows(layout) if saved is None else saved
        width = len(keys)
        present = Entries(
            batch.group_of(saved.select(list(range(width))), saved.num_rows),
            saved.column(width),
            tuple(saved.column(width + 1 + i) for i in range(len(by_names))),
            saved.column(saved.num_columns - 1).to_numpy(),
        )
        result, left = ordered.run(
            batch.runs, batch.weights, batch.groups, batch.column(call.arguments[0]),
            tuple(batch.column(n) for n in by_names), present, batch.group_count, call.parameter,
        )
        named = take_rows(batch.keys, left.group)
        kept = pa.RecordBatch.from_arrays(
            [*named.columns, left.value, *left.by, pa.array(left.count)], schema=layout
        )
        return result, kept

    def _emit(
        self, batch: _Batch, results: dict[str, pa.Array], groups: pa.RecordBatch
    ) -> Changes:
        runs = batch.runs
        alive = np.ones(len(runs), np.bool_)
        if self.keys:
            alive = results[PRESENT.name].to_numpy() > 0
        shown = _extended(groups, "#shown", batch.group_count) > 0
        closes = runs.first_of_group & shown[runs.group]
        following = np.append(runs.instant[1:], INFINITY)
        until = np.where(runs.last_of_group, INFINITY, following)
        # Row i of a group's old values comes first, then its runs: positions by a running count.
        places = np.cumsum(closes.astype(np.int64) + alive)
        total = int(places[-1]) if len(places) else 0
        source = np.empty(total, np.int64)
        closing, living = np.flatnonzero(closes), np.flatnonzero(alive)
        at_close = places[closing] - 1 - alive[closing]
        at_alive = places[living] - 1
        known = groups.num_rows
        source[at_close] = runs.group[closing]
        source[at_alive] = known + living
        run_of = np.empty(total, np.int64)
        run_of[at_close], run_of[at_alive] = closing, living
        weight = np.ones(total, np.int64)
        weight[at_close] = -1
        exp = until[run_of]
        exp[at_close] = INFINITY
        index = pa.array(source)
        columns = [
            pa.concat_arrays([groups.column(c.name), results[c.name]]).take(index)
            for c in self.calls
        ]
        group = runs.group[run_of]
        rows = pa.RecordBatch.from_arrays(
            [*take_rows(batch.keys, group).columns, *columns], schema=self.schema
        )
        return Changes(
            rows, runs.instant[run_of], exp, weight, np.zeros(total, np.int64), groups=group
        )

    def _remember(
        self, batch: _Batch, results: dict[str, pa.Array], after: dict[str, np.ndarray],
        groups: pa.RecordBatch,
    ) -> pa.RecordBatch:
        """The groups that still have rows, with their totals and the row they show."""
        last = np.flatnonzero(batch.runs.last_of_group)
        source = np.arange(batch.group_count)
        source[batch.runs.group[last]] = groups.num_rows + last
        kept = np.ones(batch.group_count, np.bool_)
        if self.keys:
            kept = after[f"#{PRESENT.name}#0"] > 0
        index = pa.array(source[kept])
        shown = [
            pa.concat_arrays([groups.column(c.name), results[c.name]]).take(index)
            for c in self.calls
        ]
        keys = take_rows(batch.keys, np.flatnonzero(kept))
        flags = pa.array(np.ones(int(kept.sum()), np.int64))
        totals = [pa.array(column[kept]) for column in after.values()]
        order = {name: array for name, array in zip(after, totals)}
        names = self._groups_schema.names[len(self.schema) + 1 :]
        return pa.RecordBatch.from_arrays(
            [*keys.columns, *shown, flags, *[order[n] for n in names]], schema=self._groups_schema
        )


@dataclass(frozen=True, eq=False)
class _Batch:
    """The events of one step, laid out by group; the groups of the state come first."""

    events: Changes
    weights: np.ndarray
    groups: np.ndarray
    group_count: int
    keys: pa.RecordBatch
    runs: Runs

    @staticmethod
    def of(node: GroupBy, known: pa.RecordBatch, events: Events, begin: int | None) -> _Batch:
        starts = events.starts.take(stable_order(events.starts.ts))
        merged = Events(starts, events.ends).merged()
        order = merge_order(starts.ts, events.ends.exp)
        names = list(node.keys)
        key_schema = pa.schema([node.input_schema.field(n) for n in names])
        both = concat_rows([known.select(names), merged.rows.select(names)], key_schema)
        codes, first = factorize(both.columns, known.num_rows + len(merged))
        groups, instants, weights = codes[known.num_rows :], merged.ts, merged.weight
        count = len(first)
        if not names:
            count = 1
            if begin is not None:
                return _first_batch(node, merged, begin)
        runs = Runs.of(groups, instants, order, count)
        return _Batch(merged, weights, groups, count, take_rows(both, first), runs)

    def column(self, name: str) -> pa.Array:
        return self.events.rows.column(self.events.rows.schema.get_field_index(name))

    def group_of(self, keys: pa.RecordBatch, length: int) -> np.ndarray:
        """The group of every row of a table of keys, all of which are known."""
        if keys.num_columns == 0:
            return np.zeros(length, np.int64)
        both = concat_rows([self.keys, keys], self.keys.schema)
        return factorize(both.columns, both.num_rows)[0][self.keys.num_rows :]


def _first_batch(node: GroupBy, merged: Changes, begin: int) -> _Batch:
    """The first step of a global aggregate: its row is there from the first instant of the query."""
    nothing = Changes(
        pa.RecordBatch.from_arrays(
            [pa.nulls(1, f.type) for f in node.input_schema], schema=node.input_schema
        ),
        *(np.array([v], np.int64) for v in (begin, INFINITY, 0, 0)),
    )
    events = Changes.concat([nothing, merged], node.input_schema)
    groups = np.zeros(len(events), np.int64)
    order = np.argsort(events.ts, kind="stable")
    runs = Runs.of(groups, events.ts, order, 1)
    return _Batch(events, events.weight, groups, 1, no_rows(pa.schema([])), runs)


def _extended(groups: pa.RecordBatch, name: str, count: int) -> np.ndarray:
    """A column of the groups, with zeros for the new ones; free to be changed."""
    column = groups.column(name).to_numpy(zero_copy_only=False)
    out = np.zeros(count, column.dtype)
    out[: len(column)] = column
    return out
