"""Rows: windows by count, of a stream or of each of its partitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, forever, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Columns
from millstream.algebra.lengths import length_text
from millstream.algebra.lifetime import Ends, Lifetime, left_open
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import DAWN, INFINITY, Span
from millstream.columns.order import group_order
from millstream.state.by_key import RowByKey
from millstream.state.chunks import Log, State
from millstream.state.last_rows import EVER, LastRows, leaves
from millstream.state.ordered_run import Numbered, OrderedRun, in_order_of_arrival, keys_of


@dataclass(frozen=True, eq=False)
class Rows(Node):
    """`[Rows N]`, also with Partition By, Range or Slide: the last N rows, of every partition.

    Law: tuple number i of a partition enters with tuple ⌈i/L⌉·L and leaves with tuple ⌈(i+N)/L⌉·L,
    or after ts + T if that comes first; one that enters and leaves at the same instant is never in.
    State: the tuples that have not left, numbered, and the count of every partition; with a Range,
    of those that had a tuple within it.
    Cost: the batch, and the tuples of the partitions it touches.
    """

    is_window: ClassVar[bool] = True
    keeps_ends: ClassVar[bool] = True

    count: int
    partition_by: tuple[str, ...]
    length: int | None
    slide: int
    input: Node

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        lies = Structure.HASH if self.partition_by else Structure.QUEUE
        return (
            StatePart("kept", "rows that have not left", lies, Extent.OWN),
            StatePart("counts", "how many rows there were", Structure.GROUPS, Extent.PARTITIONS),
        )

    @property
    def required_distribution(self) -> Distribution:
        return self.partition_by

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    @property
    def words(self) -> str:
        columns = ", ".join(name_text(name) for name in self.partition_by)
        parts = [f"Partition By {columns}"] if columns else []
        parts.append("Unbounded" if self.count >= EVER else str(self.count))
        if self.length is not None:
            parts.append(f"Range {length_text(self.length, self.time_domain)}")
        parts.extend([f"Slide {self.slide}"] if self.slide > 1 else [])
        return " ".join(parts)

    @property
    def reach(self) -> int | None:
        """With a Slide, what is in depends on how many rows there were."""
        return self.length if self.slide == 1 else None

    def lives(self, stream: Lifetime) -> Lifetime:
        ever = self.count >= EVER and self.length is None
        each = " of a partition" if self.partition_by else ""
        label = Label(Pattern.STR, f"rows{each} leave when later ones come; first in, first out")
        if ever:
            label = Label(Pattern.MON, "rows that have come in never leave")
        ends = Ends.OPEN if self.length is None else Ends.GIVEN
        return replace(left_open(label, bounded=not ever), ends=ends)

    def closes(self, last: int) -> int:
        """A window by count alone stays as it is: time drives nothing out."""
        return last if self.length is None else last + self.length + 1

    @cached_property
    def row_limit(self) -> int | None:
        return None if self.partition_by else self.count

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...] | None:
        """Elements without an arrival of their own come in the order of all their values."""
        return (wanted | frozenset(self.partition_by),) if self.input.has_arrival else None

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if len(changes) == 0:
            return state, changes
        changes, none = in_order_of_arrival(changes), Changes.empty(self.input_schema)
        counts = RowByKey(state.get("counts"), self._counts_schema, len(self.partition_by))
        known = counts.touched(keys_of(self.partition_by, changes, none), span.start)
        run = OrderedRun.of(known, self.partition_by, changes, none)
        before = run.slot(known, "#count")
        fresh = run.numbered(before)
        kept: Log = state.get("kept", Log())
        old, places = self._earlier(kept, run, before, fresh.after, span)
        out = self._emit(old, places, before, fresh)
        last = run.slot(known, "#last", DAWN)
        last[run.touched] = fresh.newest
        counted, until = self._counted(run, fresh.after, last, span)
        changed = int(run.touched.sum())
        return {
            "counts": counts.after(counted.slice(0, 0), counted, changed, until, span.end),
            "kept": self._keep(kept, fresh, span),
        }, out

    @cached_property
    def _counts_schema(self) -> pa.Schema:
        """The partitions, how many tuples each has had, and when the last of them came."""
        fields = [self.input_schema.field(name) for name in self.partition_by]
        return pa.schema([*fields, pa.field("#count", pa.int64()), pa.field("#last", pa.int64())])

    def _counted(
        self, run: OrderedRun, after: np.ndarray, last: np.ndarray, span: Span
    ) -> tuple[pa.RecordBatch, np.ndarray | None]:
        """The partitions that are known now, and until when they have to be.

        Partitions without a tuple that time has not driven out may be counted anew: what is left of
        them leaves the index unseen, since its end has passed.
        """
        columns = [*run.keys.columns, pa.array(after), pa.array(last)]
        counted = pa.RecordBatch.from_arrays(columns, schema=self._counts_schema)
        if not self.partition_by or self.length is None or self.slide > 1:
            return counted, None
        until = last + (self.length + 1)
        heard = np.flatnonzero(until > span.end)
        return take_rows(counted, heard), until[heard]

    def _index(self, kept: Log) -> LastRows:
        return LastRows(
            kept,
            self.input_schema,
            partition_by=self.partition_by,
            count=self.count,
            slide=self.slide,
        )

    def _earlier(
        self, kept: Log, run: OrderedRun, before: np.ndarray, after: np.ndarray, span: Span
    ) -> tuple[Changes, np.ndarray]:
        """Earlier tuples that may enter or leave now, and the partition of each."""
        if not self.partition_by:
            newest = int(after[0])
            waits = int(before[0]) - self.slide + (0 if self.count >= EVER else self.count)
            near = [
                c.changes
                for c in kept.chunks
                if c.first_due <= newest or (self.slide > 1 and c.last_due > waits)
            ]
            old = Changes.concat(near, self.input_schema)
            return old, np.zeros(len(old), np.int64)
        touched = np.flatnonzero(run.touched)
        was, now = (n[touched] // self.slide * self.slide for n in (before, after))
        leaving = was - self.count, np.minimum(now - self.count, before[touched])
        index, keys = self._index(kept), run.touched_keys
        found = [index.numbered_within(keys, *leaving)]
        if self.slide > 1:  # those that have not entered yet
            found.append(index.numbered_within(keys, np.maximum(was, leaving[1]), before[touched]))
        old = Changes.concat([rows for rows, _ in found], self.input_schema)
        places = touched[np.concatenate([where for _, where in found])]
        lively = old.exp > span.start
        return old.keep(lively), places[lively]

    def _emit(
        self, earlier: Changes, earlier_places: np.ndarray, before: np.ndarray, fresh: Numbered
    ) -> Changes:
        rows = Changes.concat([earlier, fresh.arrivals], self.input_schema)
        place = np.concatenate([earlier_places, fresh.partition])
        number = np.concatenate([earlier.weight, fresh.number])
        had, has, starts = before[place], fresh.after[place], fresh.starts[place]
        instants = np.append(fresh.arrivals.ts, [INFINITY, -INFINITY])

        def arrival_of(wanted: np.ndarray) -> np.ndarray:
            """Which arrival is the wanted tuple of the partition: −1 if it came before this step,
            the one after the last if it has not come yet."""
            late = np.where(wanted > has, len(fresh.arrivals), starts + wanted - had - 1)
            return np.where(wanted > had, late, -1)

        enters_with = arrival_of(-(-number // self.slide) * self.slide)
        leaves_with = arrival_of(-(-(number + self.count) // self.slide) * self.slide)
        enter, leave, ends = instants[enters_with], instants[leaves_with], self._ends(rows)
        entered_now = (enter > -INFINITY) & (enter < INFINITY) & (enter < np.minimum(leave, ends))
        left_early = (
            (enter == -INFINITY) & (leave > -INFINITY) & (leave < INFINITY) & (leave < ends)
        )
        index = np.flatnonzero(entered_now | left_early)
        cause = np.where(entered_now, enters_with, leaves_with)[index]
        order, _ = group_order(fresh.event[cause], np.arange(len(index)), len(fresh.event))
        index = index[order]
        entered_now = entered_now[index]
        return replace(
            rows.take(index),
            ts=np.where(entered_now, enter[index], leave[index]),
            exp=np.where(entered_now, np.minimum(leave, ends)[index], ends[index]),
            weight=np.where(entered_now, 1, -1),
        )

    def _keep(self, kept: Log, fresh: Numbered, span: Span) -> Log:
        """What is kept, with the arrivals; their numbers are their weights."""
        numbered = replace(fresh.arrivals, weight=fresh.number)
        if not self.partition_by:
            lively = Log(tuple(c for c in kept.chunks if c.last_due > fresh.after[0]))
            return lively.append(numbered, self._leaves(fresh.number))
        needed = self._leaves(fresh.number) > fresh.after[fresh.partition]
        numbered = replace(numbered, exp=self._ends(numbered)).keep(needed)
        return self._index(kept).with_more(numbered, span.end).log

    def _ends(self, rows: Changes) -> np.ndarray:
        """When time drives tuples out."""
        return forever(len(rows)) if self.length is None else rows.ts + (self.length + 1)

    def _leaves(self, numbers: np.ndarray) -> np.ndarray:
        return leaves(numbers, self.count, self.slide)
