"""Rows: windows by count, of a stream or of each of its partitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever, no_rows, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.kept import Extent, Kept, Structure
from millstream.algebra.node import Node, Spread, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state import Log, State
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import factorize
from millstream.columns.order import canonical_order, group_order

EVER = 2**61
"""A count that no stream reaches: the window of `[Rows Unbounded Slide L]`."""

COMPACT_BELOW = 0.5
"""Chunks are written anew when less than this share of their rows is still in the window."""


@dataclass(frozen=True, eq=False)
class Rows(Node):
    """`[Partition By A, … Rows N [Range T]]`, also with `Slide L`.

    Law: tuple number i of a partition enters with tuple ⌈i/L⌉·L and leaves with tuple ⌈(i+N)/L⌉·L,
    or after ts + T if that comes first; one that enters and leaves at the same instant is never in.
    State: the tuples that have not left, numbered, and the count of every partition; with a Range,
    of those that had a tuple within it.
    Cost: the batch; for partitions also a look at the window.
    """

    monotonic: ClassVar[bool] = False  # type: ignore[assignment]
    only_adds: ClassVar[bool] = False  # type: ignore[assignment]
    is_clean: ClassVar[bool] = True  # type: ignore[assignment]
    keeps: ClassVar[tuple[Kept, ...]] = (
        Kept("kept", "rows that have not left", Structure.LIST, Extent.OWN),
        Kept("counts", "how many rows there were", Structure.GROUPS, Extent.PARTITIONS),
    )

    count: int
    partition_by: tuple[str, ...]
    length: int | None
    slide: int
    input: Node

    @property
    def needs(self) -> Spread:
        return self.partition_by

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    @property
    def words(self) -> str:
        columns = ", ".join(name_text(name) for name in self.partition_by)
        parts = [f"Partition By {columns}"] if columns else []
        parts.append("Unbounded" if self.count >= EVER else str(self.count))
        parts.extend([f"Range {self.length}"] if self.length is not None else [])
        parts.extend([f"Slide {self.slide}"] if self.slide > 1 else [])
        return " ".join(parts)

    @property
    def label(self) -> Label:
        if self.count >= EVER and self.length is None:
            return Label(Pattern.MON, "rows that have come in never leave")
        each = " of a partition" if self.partition_by else ""
        return Label(Pattern.STR, f"rows{each} leave when later ones come; first in, first out")

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if len(changes) == 0:
            return state, changes
        changes = changes.take(canonical_order([changes.ts, changes.arrival], changes.rows))
        counts = state.get("counts", no_rows(self._counts_schema))
        kept: Log = state.get("kept", Log())
        arrivals, groups, before, keys = self._number(changes, counts)
        new_counts = before + np.bincount(groups, minlength=len(before))
        old, chunks = self._load(kept, before, keys, int(new_counts.max()))
        out = self._emit(old, arrivals, groups, before, new_counts, keys, span)
        log = self._keep(chunks, arrivals, groups, new_counts, keys, span)
        counted = pa.RecordBatch.from_arrays(
            [*keys.columns, pa.array(new_counts)], schema=self._counts_schema
        )
        if self.partition_by and self.length is not None and self.slide == 1:
            counted = take_rows(counted, self._heard(old, arrivals, groups, len(counted), span))
        return {"counts": counted, "kept": log}, out

    def _heard(
        self,
        old: tuple[Changes, np.ndarray, np.ndarray],
        arrivals: Changes,
        groups: np.ndarray,
        count: int,
        span: Span,
    ) -> np.ndarray:
        """The partitions with a tuple that time has not driven out. The others may be counted anew:
        what is left of them here leaves the log unseen, since its end has passed."""
        heard = np.zeros(count, np.bool_)
        assert self.length is not None
        for rows, group in ((old[0], old[1]), (arrivals, groups)):
            heard[group[rows.ts + (self.length + 1) > span.end]] = True
        return np.flatnonzero(heard)

    @property
    def _counts_schema(self) -> pa.Schema:
        fields = [self.input_schema.field(name) for name in self.partition_by]
        return pa.schema([*fields, pa.field("#count", pa.int64())])

    def _number(
        self, changes: Changes, counts: pa.RecordBatch
    ) -> tuple[Changes, np.ndarray, np.ndarray, pa.RecordBatch]:
        """The arrivals by partition, then time; the partition of each; all partitions' counts."""
        known = counts.num_rows
        if not self.partition_by:
            before = counts.column(0).to_numpy() if known else np.zeros(1, np.int64)
            return changes, np.zeros(len(changes), np.int64), before, no_rows(pa.schema([]))
        keys = counts.select(list(self.partition_by))
        both = concat_rows([keys, changes.rows.select(list(self.partition_by))], keys.schema)
        codes, first = factorize(both.columns, both.num_rows)
        before = np.zeros(len(first), np.int64)
        before[:known] = counts.column(counts.num_columns - 1).to_numpy()
        groups = codes[known:]
        order, _ = group_order(groups, np.arange(len(groups)), len(first))
        return changes.take(order), groups[order], before, take_rows(both, first)

    def _load(
        self, kept: Log, before: np.ndarray, keys: pa.RecordBatch, newest: int
    ) -> tuple[tuple[Changes, np.ndarray, np.ndarray], Log]:
        """Earlier tuples that may enter or leave now, with their partitions and numbers."""
        if not self.partition_by:
            waits = int(before[0]) - self.slide + (0 if self.count >= EVER else self.count)
            near = [
                c
                for c in kept.chunks
                if c.first_due <= newest or (self.slide > 1 and c.last_due > waits)
            ]
            parts = [chunk.changes for chunk in near]
            old = Changes.concat(parts, self.input_schema)
            return (old, np.zeros(len(old), np.int64), old.weight), kept
        old, codes = self._of_known(kept, keys)
        return (old, codes, old.weight), kept

    def _of_known(self, kept: Log, keys: pa.RecordBatch) -> tuple[Changes, np.ndarray]:
        """The tuples of partitions that are known, each with the number of its partition."""
        rows = Changes.concat(kept.all(), self.input_schema)
        both = concat_rows([keys, rows.rows.select(list(self.partition_by))], keys.schema)
        codes = factorize(both.columns, both.num_rows)[0][keys.num_rows :]
        known = codes < keys.num_rows
        return (rows, codes) if known.all() else (rows.keep(known), codes[known])

    def _emit(
        self,
        old: tuple[Changes, np.ndarray, np.ndarray],
        arrivals: Changes,
        groups: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
        keys: pa.RecordBatch,
        span: Span,
    ) -> Changes:
        earlier, earlier_groups, earlier_numbers = old
        starts = np.searchsorted(groups, np.arange(len(before)))
        numbers = before[groups] + np.arange(len(groups)) - starts[groups] + 1
        rows = Changes.concat([earlier, arrivals], self.input_schema)
        group = np.concatenate([earlier_groups, groups])
        number = np.concatenate([earlier_numbers, numbers])

        def instant_of(wanted: np.ndarray) -> np.ndarray:
            """When the wanted tuple of the partition came: DAWN before this step, ∞ not yet."""
            here = (wanted > before[group]) & (wanted <= after[group])
            index = np.where(here, starts[group] + wanted - before[group] - 1, 0)
            late = np.where(wanted > after[group], INFINITY, -INFINITY)
            return np.where(here, arrivals.ts[index], late)

        enter = instant_of(-(-number // self.slide) * self.slide)
        leave = instant_of(-(-(number + self.count) // self.slide) * self.slide)
        ends = forever(len(rows)) if self.length is None else rows.ts + (self.length + 1)
        entered_now = (enter > -INFINITY) & (enter < INFINITY) & (enter < np.minimum(leave, ends))
        left_early = (
            (enter == -INFINITY) & (leave > -INFINITY) & (leave < INFINITY) & (leave < ends)
        )
        index = np.flatnonzero(entered_now | left_early)
        begins = np.where(entered_now, enter, leave)[index]
        closes = np.where(entered_now, np.minimum(leave, ends), ends)[index]
        weight = np.where(entered_now, 1, -1)[index]
        moved = replace(rows.take(index), ts=begins, exp=closes, weight=weight)
        return moved.take(np.argsort(begins, kind="stable"))

    def _keep(
        self,
        kept: Log,
        arrivals: Changes,
        groups: np.ndarray,
        after: np.ndarray,
        keys: pa.RecordBatch,
        span: Span,
    ) -> Log:
        """The log with the arrivals, without chunks whose tuples have all left."""
        starts = np.searchsorted(groups, np.arange(len(after)))
        sizes = np.bincount(groups, minlength=len(after))
        numbers = (after - sizes)[groups] + np.arange(len(groups)) - starts[groups] + 1
        numbered = replace(arrivals, weight=numbers)
        if not self.partition_by:
            lively = Log(tuple(c for c in kept.chunks if c.last_due > after[0]))
            return lively.append(numbered, self._leaves(numbers))
        return self._compact(kept, numbered, groups, after, keys, span)

    def _compact(
        self,
        kept: Log,
        numbered: Changes,
        groups: np.ndarray,
        after: np.ndarray,
        keys: pa.RecordBatch,
        span: Span,
    ) -> Log:
        old, codes = self._of_known(kept, keys)
        lively = self._lively(old, codes, after, span)
        fresh = numbered.keep(self._lively(numbered, groups, after, span))
        if lively.sum() >= COMPACT_BELOW * kept.rows and len(kept.chunks) < 64:
            return kept.append(fresh, self._leaves(fresh.weight))
        whole = Changes.concat([old.keep(lively), fresh], self.input_schema)
        return Log().append(whole, self._leaves(whole.weight))

    def _lively(
        self, rows: Changes, groups: np.ndarray, after: np.ndarray, span: Span
    ) -> np.ndarray:
        lively = self._leaves(rows.weight) > after[groups]
        if self.length is not None:
            lively &= rows.ts + (self.length + 1) > span.end
        return lively

    def _leaves(self, numbers: np.ndarray) -> np.ndarray:
        """The number of the tuple with which each is no longer needed here: it leaves, or, if it
        never does, it has entered."""
        if self.count >= EVER:
            return -(-numbers // self.slide) * self.slide
        return -(-(numbers + self.count) // self.slide) * self.slide
