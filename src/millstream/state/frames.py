"""Rows in the frames of OVER: what arrives in a step, and what leaves its partition's frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, forever, take_rows
from millstream.algebra.frame import Frame, Units
from millstream.algebra.state_layout import Buffer
from millstream.algebra.time import Span
from millstream.state.chunks import Log
from millstream.state.events import unfold
from millstream.state.last_rows import LastRows
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
    schema: pa.Schema
    buffer: Buffer

    def leaving_by_time(self, kept: Log, arrivals: Changes, span: Span) -> tuple[Log, Changes]:
        """What leaves in the span, the oldest first, and what is kept then."""
        if self.frame.length is None:
            return kept, Changes.empty(self.schema)
        ending = replace(arrivals, exp=arrivals.ts + (self.frame.length + 1))
        kept, events = unfold(kept, ending, span, self.buffer)
        return kept, events.ends

    def leaving_by_number(
        self, kept: Log, run: OrderedRun, before: np.ndarray, fresh: Numbered
    ) -> OrderedRun:
        """The run of the arrivals with the rows that they drive out."""
        old, places = self._driven_out(kept, run, before, fresh.after)
        count = self.frame.rows
        assert count is not None
        mine = fresh.number + count <= fresh.after[fresh.partition]
        ends = Changes.concat([old, fresh.arrivals.keep(mine)], self.schema)
        partition = np.concatenate([places, fresh.partition[mine]])
        number = np.concatenate([old.weight, fresh.number[mine]])
        driver = fresh.starts[partition] + number + count - before[partition] - 1
        turn = fresh.event[driver]
        order = np.argsort(turn, kind="stable")
        ends = replace(ends.take(order), weight=np.ones(len(order), np.int64))
        return replace(
            run,
            ends=ends,
            partition=np.concatenate([run.partition, partition[order]]),
            turns=turn[order],
        )

    def keep_numbered(self, kept: Log, fresh: Numbered, keys: pa.RecordBatch, span: Span) -> Log:
        """What is kept, with the arrivals; their numbers are their weights. They leave when others
        come, so their times are not kept."""
        count = self.frame.rows
        assert count is not None
        stays = fresh.number + count > fresh.after[fresh.partition]
        none = np.zeros(len(stays), np.int64)
        numbered = replace(
            fresh.arrivals, ts=none, exp=forever(len(none)), weight=fresh.number, seq=none
        ).keep(stays)
        if self.partition_by:
            places = fresh.partition[stays]
            return self._index(kept).with_sorted(numbered, places, keys, span.end).log
        lively = Log(tuple(c for c in kept.chunks if c.last_due > fresh.after[0]))
        return lively.append(numbered, numbered.weight + count)

    def _driven_out(
        self, kept: Log, run: OrderedRun, before: np.ndarray, after: np.ndarray
    ) -> tuple[Changes, np.ndarray]:
        """Earlier rows that leave now, and the partition of each."""
        count = self.frame.rows
        assert count is not None
        if not self.partition_by:
            near = [c.changes for c in kept.chunks if c.first_due <= after[0]]
            old = Changes.concat(near, self.schema)
            numbers = old.weight + count
            old = old.keep((numbers > before[0]) & (numbers <= after[0]))
            return old, np.zeros(len(old), np.int64)
        high = np.minimum(after - count, before)
        full = np.flatnonzero(run.touched & (high > 0))
        keys = take_rows(run.keys, full)
        low = before[full] - count
        old, where = self._index(kept).numbered_within(keys, low, high[full])
        return old, full[where]

    def _index(self, kept: Log) -> LastRows:
        count = self.frame.rows
        assert count is not None
        return LastRows(kept, self.schema, partition_by=self.partition_by, count=count)


def is_numbered(frame: Frame) -> bool:
    """Whether rows have to be counted in their partition."""
    return frame.units is Units.ROWS and (frame.preceding is not None or frame.slide is not None)
