"""Rows in the frames of OVER: what arrives in a step, and what leaves its partition's frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever, take_rows
from millstream.algebra.facts import Columns
from millstream.algebra.frame import Frame, Units
from millstream.algebra.state_layout import Buffer, StateLayout
from millstream.algebra.time import Span
from millstream.state.chunks import Log
from millstream.state.events import unfold
from millstream.state.last_lists import Found, LastLists
from millstream.state.ordered_run import Numbered, OrderedRun


@dataclass(frozen=True)
class FrameRows:
    """The rows that a frame keeps, until they leave it.

    Law: a row leaves a frame by RANGE at the instant after ts + T, whether others arrive or not; it
    leaves one of n rows with the n-th row of its partition after it. Rows by RANGE lie by the
    instant at which they leave, rows by ROWS by their number in the partition.
    Cost: what arrives and what leaves.
    """

    frame: Frame
    partition_by: tuple[str, ...]
    arguments: Columns
    schema: pa.Schema
    buffer: Buffer

    def leaving_by_time(self, kept: Log, arrivals: Changes, span: Span) -> tuple[Log, Changes]:
        """What leaves in the span, the oldest first, and what is kept then."""
        if self.frame.length is None:
            return kept, Changes.empty(self.schema)
        ending = replace(arrivals, exp=arrivals.ts + (self.frame.length + 1))
        kept, events = unfold(kept, ending, span, StateLayout(self.buffer))
        return kept, events.ends

    def leaving_by_number(
        self, kept: Log, run: OrderedRun, before: np.ndarray, fresh: Numbered
    ) -> OrderedRun:
        """The run of the arrivals with the rows that they drive out."""
        count = self._count
        if (fresh.after <= count).all():
            return replace(run, turns=fresh.event[:0])
        old = self._driven_out(kept, run, before, fresh.after)
        leaves = np.flatnonzero(fresh.number + count <= fresh.after[fresh.partition])
        mine = self._values_at(fresh, leaves)
        partition = np.concatenate([old.place, fresh.partition[leaves]])
        number = np.concatenate([old.number, fresh.number[leaves]])
        turn = fresh.event[fresh.starts[partition] + number + count - before[partition] - 1]
        order = _of_different(turn, len(fresh.event))
        rows = take_rows(concat_rows([old.rows, mine], mine.schema), order)
        turn, none = turn[order], np.zeros(len(order), np.int64)
        ends = Changes(rows, none, none, np.ones(len(order), np.int64), none)
        partition = np.concatenate([run.partition, partition[order]])
        return replace(run, ends=ends, partition=partition, turns=turn)

    def keep_numbered(self, kept: Log, run: OrderedRun, fresh: Numbered, span: Span) -> Log:
        """What is kept, with the arrivals. They leave when others come, so their times are not
        kept."""
        count = self._count
        size = np.diff(fresh.starts)
        stays = np.minimum(size, count)
        if self.partition_by:
            some = np.flatnonzero(size)
            keys, starts = take_rows(run.keys, some), (fresh.starts[1:] - stays)[some]
            values = fresh.given.rows.select(self.values.names)
            last, order = fresh.after[some], fresh.event
            lists = self._lists(kept)
            return lists.with_more(keys, values, starts, stays[some], last, order, span.end).log
        first, length = int(size[0] - stays[0]), int(stays[0])
        none, number = np.zeros(length, np.int64), fresh.number[first:]
        rows = fresh.given.slice(first, first + length).rows
        numbered = Changes(rows, none, forever(length), number, none)
        lively = Log(tuple(c for c in kept.chunks if c.last_due > fresh.after[0]))
        return lively.append(numbered, number + count)

    @property
    def _count(self) -> int:
        assert self.frame.rows is not None
        return self.frame.rows

    @cached_property
    def values(self) -> pa.Schema:
        """What is kept of numbered rows, beside the columns of their partition."""
        fields = [f for f in self.schema if f.name in self.arguments]
        return pa.schema(fields) if self.partition_by else self.schema

    def _driven_out(
        self, kept: Log, run: OrderedRun, before: np.ndarray, after: np.ndarray
    ) -> Found:
        """Earlier rows that leave now."""
        count = self._count
        if self.partition_by:
            high = np.minimum(after - count, before)
            full = np.flatnonzero(run.touched & (high > 0))
            keys = take_rows(run.keys, full)
            found = self._lists(kept).numbered_within(keys, before[full] - count, high[full])
            return found._replace(place=full[found.place])
        near = [c.changes for c in kept.chunks if c.first_due <= after[0]]
        old = Changes.concat(near, self.schema)
        low, high = np.searchsorted(old.weight + count, [before[0], after[0]], side="right")
        old = old.slice(int(low), int(high))
        return Found(old.rows, old.weight, np.zeros(len(old), np.int64))

    def _values_at(self, fresh: Numbered, places: np.ndarray) -> pa.RecordBatch:
        rows = fresh.given.rows.select(self.values.names)
        return take_rows(rows, fresh.event[places])

    def _lists(self, kept: Log) -> LastLists:
        keys = pa.schema([self.schema.field(name) for name in self.partition_by])
        return LastLists.at(kept, keys, self.values, self._count)


def _of_different(values: np.ndarray, most: int) -> np.ndarray:
    """The order that sorts numbers below `most` that are all different."""
    place = np.full(most, -1)
    place[values] = np.arange(len(values))
    return place[place >= 0]


def is_numbered(frame: Frame) -> bool:
    """Whether rows have to be counted in their partition."""
    return frame.units is Units.ROWS and (frame.preceding is not None or frame.slide is not None)
