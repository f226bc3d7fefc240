"""Panes: aggregates over the last rows of a stream, at every so many rows of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.call import AggregateCall
from millstream.aggregates.partials import Partials
from millstream.algebra.changes import Changes, concat_rows, forever, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Columns
from millstream.algebra.frame import Frame
from millstream.algebra.lifetime import Lifetime
from millstream.algebra.lifetime import elements as never_leaving
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.columns.followed import counted_up
from millstream.state.by_key import RowByKey
from millstream.state.chunks import Log, State
from millstream.state.last_rows import LastRows
from millstream.state.ordered_run import OrderedRun, in_order_of_arrival, keys_of, single

COUNT = "#count"
"""How many rows a partition has had."""


@dataclass(frozen=True, eq=False)
class Panes(Node):
    """`f(…) OVER (ROWS n PRECEDING SLIDE m)` in panes: every m-th element, with its aggregates.

    Law: the same elements as of Over. A pane is as many rows as divide both the frame and the
    slide; of each there are the totals, and the rows at the ends that a call asks for. A frame that
    does not reach over a slide is one pane; rows between such frames are passed over.
    State: per partition the pane that is open, and those in the frame. Cost: what arrives, and for
    every frame that is given about log(panes) of them.
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
        return f"{by}{self.frame.text(self.time_domain)}: {calls}"

    @property
    def slide(self) -> int:
        assert self.frame.slide is not None
        return self.frame.slide

    @property
    def rows(self) -> int:
        """How many rows a frame holds."""
        assert self.frame.rows is not None
        return self.frame.rows

    @property
    def is_tumble(self) -> bool:
        return self.rows <= self.slide

    @property
    def size(self) -> int:
        """How many rows a pane has; of those of a tumble, only the last are in the frame."""
        return self.slide if self.is_tumble else gcd(self.rows, self.slide)

    @property
    def count(self) -> int:
        """How many panes a frame has."""
        return 1 if self.is_tumble else self.rows // self.size

    def lives(self, stream: Lifetime) -> Lifetime:
        return never_leaving()

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival

    @property
    def required_distribution(self) -> Distribution:
        return self.partition_by

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        words = "the pane that is open"
        parts = [StatePart("partitions", words, Structure.GROUPS, Extent.PARTITIONS)]
        if self.count > 1:
            parts.append(StatePart("kept", "panes in frames", Structure.HASH, Extent.FRAMES))
        return tuple(parts)

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...] | None:
        """Elements without an arrival of their own come in the order of all their values."""
        if not self.input.has_arrival:
            return None
        own = wanted - {call.name for call in self.calls}
        return (own | self._used,)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        arrivals = in_order_of_arrival(single(changes))
        if len(arrivals) == 0:
            return state, Changes.empty(self.schema)
        rows = arrivals.rows.select([n for n in self.input_schema.names if n in self._used])
        narrow, none = arrivals.with_rows(rows), arrivals.with_rows(rows).slice(0, 0)
        stored = RowByKey(state.get("partitions"), self._open_schema, len(self.partition_by))
        known = stored.touched(keys_of(self.partition_by, narrow, none))
        run = OrderedRun.of(known, self.partition_by, narrow, none)
        cut = self._cut(run, run.slot(known, COUNT), known)
        kept: Log = state.get("kept", Log())
        kept, results = self._results(kept, run, cut)
        given = np.flatnonzero(cut.number % self.slide == 0)
        place = np.empty(len(cut.partition), np.int64)
        place[cut.yielding] = np.arange(len(cut.yielding))
        index = pa.array(place[cut.pane_of[given]])
        chosen = arrivals.pick(given)
        columns = [*chosen.rows.columns, *(results[c.name].take(index) for c in self.calls)]
        whole = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        out = Changes.elements(whole, chosen.ts, chosen.seq)
        part = stored.after(known.slice(0, 0), self._open(run, cut), int(run.touched.sum()))
        return {"partitions": part, "kept": kept}, out

    @cached_property
    def _used(self) -> Columns:
        arguments = frozenset(name for call in self.calls for name in call.arguments)
        return arguments | frozenset(self.partition_by)

    @cached_property
    def _partials(self) -> Partials:
        return Partials(self.calls, self.input_schema)

    @cached_property
    def _keys(self) -> list[pa.Field]:
        return [self.input_schema.field(name) for name in self.partition_by]

    @cached_property
    def _open_schema(self) -> pa.Schema:
        return pa.schema([*self._keys, pa.field(COUNT, pa.int64()), *self._partials.schema])

    @cached_property
    def _kept_schema(self) -> pa.Schema:
        return pa.schema([*self._keys, *self._partials.schema])

    def _cut(self, run: OrderedRun, before: np.ndarray, known: pa.RecordBatch) -> Cut:
        """The rows of a step, cut into panes."""
        number, after = counted_up(run.partition, before)
        first = before // self.size
        spans = np.where(after > before, (after - 1) // self.size - first + 1, 0)
        starts = np.cumsum(spans) - spans
        pane_of = (number - 1) // self.size - first[run.partition] + starts[run.partition]
        partition = np.repeat(np.arange(run.partitions), spans)
        pane = first[partition] + np.arange(len(partition)) - starts[partition] + 1
        inside = (number - 1) % self.size >= self.size - min(self.rows, self.size)
        held = np.flatnonzero(inside)
        begun = np.flatnonzero(run.touched[: known.num_rows])
        earlier = known.select(self._partials.schema.names)
        parts = self._partials.of(
            take_rows(run.arrivals.rows, held),
            pane_of[held],
            len(partition) + 1,
            take_rows(earlier, begun),
            starts[begun],
        )
        return Cut(
            number,
            before,
            after,
            pane_of,
            partition,
            pane,
            pane * self.size <= after[partition],
            parts,
            earlier,
            self.slide // self.size,
        )

    def _open(self, run: OrderedRun, cut: Cut) -> pa.RecordBatch:
        """The partitions after the step, each with what is known of its open pane."""
        none, known = len(cut.partition), cut.earlier.num_rows
        chosen = np.full(run.partitions, none)
        chosen[:known] = none + 1 + np.arange(known)
        chosen[run.touched] = none
        still = np.flatnonzero(~cut.whole)
        chosen[cut.partition[still]] = still
        parts = take_rows(concat_rows([cut.parts, cut.earlier], cut.parts.schema), chosen)
        columns = [*run.keys.columns, pa.array(cut.after), *parts.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self._open_schema)

    def _results(self, kept: Log, run: OrderedRun, cut: Cut) -> tuple[Log, dict[str, pa.Array]]:
        """The panes that are kept after the step, and the results of the frames that are given."""
        if self.count == 1:
            ones = np.ones(len(cut.yielding), np.int64)
            return kept, self._partials.over(cut.parts, cut.yielding, ones)
        whole = np.flatnonzero(cut.whole)
        old, places = self._earlier(kept, run, cut)
        number = np.concatenate([old.weight, cut.pane[whole]])
        partition = np.concatenate([places, cut.partition[whole]])
        order = np.lexsort((number, partition))
        at = np.empty(len(order), np.int64)
        at[order] = np.arange(len(order))
        place = np.empty(len(cut.partition), np.int64)
        place[whole] = at[len(old) :]
        names = self._partials.schema.names
        both = concat_rows([old.rows.select(names), take_rows(cut.parts, whole)], cut.parts.schema)
        lengths = np.minimum(cut.pane[cut.yielding], self.count)
        found = self._partials.over(take_rows(both, order), place[cut.yielding], lengths)
        return self._with_whole(kept, run, cut, whole), found

    def _earlier(self, kept: Log, run: OrderedRun, cut: Cut) -> tuple[Changes, np.ndarray]:
        """The earlier panes of frames that are given, and the partition of each."""
        asked, first = np.unique(cut.partition[cut.yielding], return_index=True)
        starts = cut.pane[cut.yielding][first] - self.count
        before = cut.before[asked] // self.size
        index = self._index(kept)
        if len(asked) == 0 or len(kept.chunks) == 0:
            return Changes.empty(self._kept_schema), np.zeros(0, np.int64)
        found, where = index.numbered_within(take_rows(run.keys, asked), starts, before)
        return found, asked[where]

    def _with_whole(self, kept: Log, run: OrderedRun, cut: Cut, whole: np.ndarray) -> Log:
        """What is kept, with the panes that are whole now; their numbers are their weights."""
        newest = cut.after[cut.partition[whole]] // self.size
        stays = whole[cut.pane[whole] + self.count > newest + 1]
        if len(stays) == 0:
            return kept
        keys = take_rows(run.keys, cut.partition[stays])
        columns = [*keys.columns, *take_rows(cut.parts, stays).columns]
        rows = pa.RecordBatch.from_arrays(columns, schema=self._kept_schema)
        none = np.zeros(len(stays), np.int64)
        numbered = Changes(rows, none, forever(len(stays)), cut.pane[stays], none)
        return self._index(kept).with_more(numbered, 0).log

    def _index(self, kept: Log) -> LastRows:
        return LastRows(
            kept, self._kept_schema, partition_by=self.partition_by, count=self.count - 1
        )


@dataclass(frozen=True, eq=False)
class Cut:
    """The rows of a step by pane: the number of every row in its partition and its pane, and of
    every pane its partition, its number there from 1, and whether it is whole.

    `parts` are what is known of the panes, then of one without rows; `earlier` that of the panes
    that were open before. Every so many panes, `every`, a frame is given.
    """

    number: np.ndarray
    before: np.ndarray
    after: np.ndarray
    pane_of: np.ndarray
    partition: np.ndarray
    pane: np.ndarray
    whole: np.ndarray
    parts: pa.RecordBatch
    earlier: pa.RecordBatch
    every: int

    @cached_property
    def yielding(self) -> np.ndarray:
        """The panes with which a frame is given."""
        return np.flatnonzero(self.whole & (self.pane % self.every == 0))
