"""Over: aggregates over the rows before each element of a stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.aggregate import Placing
from millstream.aggregates.call import AggregateCall
from millstream.algebra.changes import Changes, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Columns
from millstream.algebra.frame import Frame, Units
from millstream.algebra.lifetime import Lifetime
from millstream.algebra.lifetime import elements as never_leaving
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.columns.keys import factorize
from millstream.columns.trace import follow
from millstream.operators.aggregated import PRESENT, Aggregates
from millstream.state.by_key import RowByKey
from millstream.state.chunks import Log, Part, State
from millstream.state.frames import FrameRows, is_numbered
from millstream.state.ordered_run import OrderedRun, in_order_of_arrival, keys_of, single
from millstream.state.pending import release

COUNT = "#count"
"""How many rows a partition has had."""


@dataclass(frozen=True, eq=False)
class Over(Node):
    """`f(…) OVER (PARTITION BY … ROWS n PRECEDING)`: each element with aggregates over its frame.

    Law: elements come one by one, in the order of time, then of arrival. What has left the frame
    of the element's partition goes first, then the element enters; the calls are taken over what
    is there then. With a slide, only yield elements are given: every L-th of a partition, or its
    last in each slot of time, at the end of the slot. An active frame gives one more element for
    each that leaves, when it does, over what is left.
    State: per partition the totals of the calls, or the values they need; the rows in frames, as
    far as they are needed to take them out again. Cost: what arrives and what leaves.
    """

    is_stream: ClassVar[bool] = True
    keeps_ends: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]

    partition_by: tuple[str, ...]
    frame: Frame
    calls: tuple[AggregateCall, ...]
    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.input_schema, *[pa.field(c.name, c.type) for c in self.calls]])

    @property
    def words(self) -> str:
        columns = ", ".join(name_text(name) for name in self.partition_by)
        by = f"Partition By {columns} " if columns else ""
        calls = ", ".join(str(call) for call in self.calls)
        return f"{by}{self.frame.text(self.time_domain)}: {calls}".rstrip()

    def lives(self, stream: Lifetime) -> Lifetime:
        return never_leaving()

    @property
    def reach(self) -> int | None:
        if self.frame.units is Units.ROWS or self.frame.preceding is None:
            return None
        return self.frame.preceding + (self.frame.slide or 0) + 1

    @property
    def has_arrival(self) -> bool:
        """An element that leaves an active frame has the number it came with."""
        return self.input.has_arrival and not self.frame.active

    @property
    def required_distribution(self) -> Distribution:
        return self.partition_by

    def closes(self, last: int) -> int:
        """When the last row has left an active frame, or the last slot has ended."""
        if self.frame.active and self.frame.preceding is not None:
            return last + self.frame.preceding + 1
        if self.frame.units is Units.RANGE and self.frame.slide is not None:
            return -(-last // self.frame.slide) * self.frame.slide
        return last

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        parts = [StatePart("partitions", "totals", Structure.GROUPS, Extent.PARTITIONS)]
        if self.frame.units is Units.RANGE and not self.frame.unbounded:
            parts.append(StatePart("kept", "rows in frames", Structure.DUE, Extent.FRAMES))
        if self.frame.rows is not None:
            lies = Structure.HASH if self.partition_by else Structure.QUEUE
            parts.append(StatePart("kept", "rows in frames", lies, Extent.FRAMES))
        if self._slides_by_time:
            words = "the last row of each partition"
            parts.append(StatePart("yield", words, Structure.DUE, Extent.SLIDE))
        return (*parts, *self._aggregates.state_parts)

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...] | None:
        """Elements without an arrival of their own come in the order of all their values."""
        if not self.input.has_arrival:
            return None
        own = wanted - {call.name for call in self.calls}
        return (own | frozenset(self.partition_by) | self._arguments,)

    def with_columns(self, wanted: Columns) -> Node | None:
        """Calls that nobody uses are left out; without any, elements are as they were."""
        kept = tuple(call for call in self.calls if call.name in wanted)
        if len(kept) == len(self.calls):
            return None
        return replace(self, calls=kept) if kept or not self.frame.plain else self.input

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        arrivals = in_order_of_arrival(single(changes))
        kept: Log = state.get("kept", Log())
        narrow = arrivals.with_rows(arrivals.rows.select(self._kept_schema.names))
        kept, ends = self._rows.leaving_by_time(kept, narrow, span)
        if len(arrivals) + len(ends) == 0:
            return self._yielded({**state, "kept": kept}, Changes.empty(self.schema), span)
        stored = RowByKey(state.get("partitions"), self._slots_schema, len(self.partition_by))
        known = stored.touched(keys_of(self.partition_by, narrow, ends))
        run = OrderedRun.of(known, self.partition_by, narrow, ends)
        slots = {name: run.slot(known, name) for name in self._slots}
        numbers = np.zeros(0, np.int64)
        if is_numbered(self.frame):
            fresh = run.numbered(slots[COUNT])
            if self.frame.slide is not None:
                numbers = np.empty(len(arrivals), np.int64)
                numbers[fresh.event] = fresh.number
            if self.frame.rows is not None:
                run = self._rows.leaving_by_number(kept, run, slots[COUNT], fresh)
                kept = self._rows.keep_numbered(kept, run, fresh, span)
            slots[COUNT] = fresh.after
        columns, bags = self._results(run, slots, state)
        out = self._emit(run, arrivals, columns, numbers)
        part = self._partitions(stored, known, run, slots)
        values = {name: moved.after(isinstance(part, Log)) for name, moved in bags.items()}
        return self._yielded({**state, **values, "kept": kept, "partitions": part}, out, span)

    @cached_property
    def _aggregates(self) -> Aggregates:
        calls = tuple(c for c in self.calls if not isinstance(c.aggregate.way, Placing))
        return Aggregates(self.partition_by, calls, self.input_schema)

    @cached_property
    def _placing(self) -> tuple[tuple[AggregateCall, Placing], ...]:
        found = [(c, c.aggregate.way) for c in self.calls]
        return tuple((call, way) for call, way in found if isinstance(way, Placing))

    @cached_property
    def _arguments(self) -> Columns:
        return frozenset(name for call in self.calls for name in call.arguments)

    @cached_property
    def _kept_schema(self) -> pa.Schema:
        """The columns of the rows that are kept: whole rows where each is given once more."""
        if self.frame.active:
            return self.input_schema
        needed = self._arguments | frozenset(self.partition_by)
        return pa.schema([field for field in self.input_schema if field.name in needed])

    @cached_property
    def _rows(self) -> FrameRows:
        kept, buffer = self._kept_schema, self.state_layout.buffer
        return FrameRows(self.frame, self.partition_by, self._arguments, kept, buffer)

    @property
    def _slides_by_time(self) -> bool:
        return self.frame.units is Units.RANGE and self.frame.slide is not None

    @cached_property
    def _slots(self) -> dict[str, type]:
        counted: dict[str, type] = {COUNT: np.int64} if is_numbered(self.frame) else {}
        placing = {
            f"{call.name} {slot}": np.int64 for call, way in self._placing for slot in way.slots
        }
        return {**self._aggregates.totals, **counted, **placing}

    @cached_property
    def _slots_schema(self) -> pa.Schema:
        keys = [self.input_schema.field(name) for name in self.partition_by]
        slots = [pa.field(n, pa.from_numpy_dtype(np.dtype(k))) for n, k in self._slots.items()]
        return pa.schema([*keys, *slots])

    def _results(
        self, run: OrderedRun, slots: dict[str, np.ndarray], state: State
    ) -> tuple[list[pa.Array], dict]:
        """The results after every event: of the arrivals, in an active frame also of the others.

        Each arrival has an instant of its own here, its place among the arrivals; what leaves goes
        with the arrival before which it does. In an active frame every event has its own.
        """
        n = len(run.arrivals)
        turns = run.leaving_before
        instants = np.concatenate([np.arange(n), turns])
        if self.frame.active:
            ends = turns + np.arange(len(turns))
            instants = np.concatenate(
                [np.arange(n) + np.searchsorted(turns, np.arange(n), side="right"), ends]
            )
        before = slots[PRESENT].copy()
        nothing = np.zeros(run.partitions, np.bool_)
        trace = follow(run.partition, instants, run.weights, n, slots[PRESENT], nothing)
        found, bags = self._aggregates.run(run, trace, slots, before, state)
        row = np.empty(len(run), np.int64)
        row[trace.event] = trace.row
        wanted = pa.array(row if self.frame.active else row[:n])
        results = {name: values.take(wanted) for name, values in found.items()}
        for call, way in self._placing:
            mine = [slots[f"{call.name} {slot}"] for slot in way.slots]
            results[call.name] = way.run(run, call.arguments, mine)
        return [results[call.name] for call in self.calls], bags

    def _emit(
        self, run: OrderedRun, arrivals: Changes, columns: list[pa.Array], numbers: np.ndarray
    ) -> Changes:
        rows, ts, seq = arrivals.rows, arrivals.ts, arrivals.seq
        if self.frame.active and len(run.ends):
            rows = pa.concat_batches([rows, run.ends.rows])
            ts = np.concatenate([ts, run.ends.exp])
            seq = np.concatenate([seq, run.ends.seq])
        rows = pa.RecordBatch.from_arrays([*rows.columns, *columns], schema=self.schema)
        out = Changes.elements(rows, ts, seq)
        if len(numbers):
            assert self.frame.slide is not None
            return out.keep(numbers % self.frame.slide == 0)
        return out.in_time_order() if self.frame.active else out

    def _partitions(
        self, stored: RowByKey, known: pa.RecordBatch, run: OrderedRun, slots: dict[str, np.ndarray]
    ) -> Part:
        """The partitions after the step; one whose rows have all left by time is forgotten."""
        rows = pa.RecordBatch.from_arrays(
            [*run.keys.columns, *map(pa.array, slots.values())], schema=stored.schema
        )
        changed = int(run.touched.sum())
        if self.frame.length is None:
            return stored.after(known.slice(0, 0), rows, changed)
        there = slots[PRESENT] > 0
        gone = take_rows(known, np.flatnonzero(~there[: run.known]))
        return stored.after(gone, take_rows(rows, np.flatnonzero(there)), changed)

    def _yielded(self, state: State, out: Changes, span: Span) -> Step:
        """With a slide by time, the last element of a partition in each slot, when that ends."""
        if not self._slides_by_time:
            return state, out
        slide = self.frame.slide
        assert slide is not None
        ends = -(-out.ts // slide) * slide
        newest = self._last_of_each(replace(out, ts=ends, exp=ends + 1))
        waiting, ended = release(state.get("yield", Log()), newest, span)
        return {**state, "yield": waiting}, self._last_of_each(ended).in_time_order()

    def _last_of_each(self, elements: Changes) -> Changes:
        """Of the elements of a partition in one slot the last."""
        columns = [*elements.rows.select(list(self.partition_by)).columns, pa.array(elements.ts)]
        last_first = [column.take(pa.array(np.arange(len(elements))[::-1])) for column in columns]
        _, first = factorize(last_first, len(elements))
        return elements.pick(np.sort(len(elements) - 1 - first))
