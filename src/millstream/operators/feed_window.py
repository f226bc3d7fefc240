"""Windows that several calls share: which tuples leave, and which arrivals drive them out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, forever
from millstream.algebra.state_layout import Buffer
from millstream.algebra.time import DAWN, Span
from millstream.blocks.layout import NUMBER
from millstream.columns.followed import first_at_least
from millstream.state.chunks import Log
from millstream.state.last_rows import LastRows
from millstream.state.ordered_run import Numbered, in_order_of_leaving
from millstream.state.waiting import add_waiting, due_in


def with_numbers(changes: Changes, number: np.ndarray) -> Changes:
    """Tuples with their numbers as the last column."""
    columns = [*changes.rows.columns, pa.array(number)]
    schema = pa.schema([*changes.schema, pa.field(NUMBER, pa.int64())])
    return changes.with_rows(pa.RecordBatch.from_arrays(columns, schema=schema))


@dataclass(frozen=True, eq=False)
class Driven:
    """A window from which arrivals drive tuples out: the last `rows` of a partition, or those at
    most `length` older than the newest.

    A tuple has a position above 0, its number or its instant since DAWN, and leaves with the first
    arrival whose position is `size` further on.
    State: the tuples in the windows, by partition. Cost: those that come and those that leave.
    """

    partition_by: tuple[str, ...]
    rows: int | None
    length: int | None
    columns: tuple[str, ...]

    @property
    def size(self) -> int:
        if self.rows is not None:
            return self.rows
        assert self.length is not None
        return self.length + 1

    def schema(self, given: pa.Schema) -> pa.Schema:
        fields = [given.field(name) for name in self.columns]
        return pa.schema([*fields, pa.field(NUMBER, pa.int64())])

    def positions(self, fresh: Numbered) -> np.ndarray:
        return fresh.number if self.rows is not None else fresh.arrivals.ts - DAWN

    def leavers(
        self,
        log: Log,
        keys: pa.RecordBatch,
        fresh: Numbered,
        before: np.ndarray,
        after: np.ndarray,
    ) -> tuple[Log, Changes, np.ndarray]:
        """The log after the step, the tuples that leave in it, and the turn of each.

        `before` and `after` are the position of the newest tuple of every partition, before the
        step and after it; `keys` are those of the partitions.
        """
        schema = self.schema(fresh.arrivals.schema)
        touched = np.flatnonzero(fresh.starts[1:] > fresh.starts[:-1])
        old, places = self._earlier(log, schema, keys, touched, before, after)
        arrivals = with_numbers(_select(fresh.arrivals, self.columns), fresh.number)
        position = self.positions(fresh)
        numbered = replace(arrivals, weight=position, exp=forever(len(arrivals)))
        leaves = position + self.size <= after[fresh.partition]
        gone = Changes.concat([old, numbered.keep(leaves)], schema)
        partition = np.concatenate([touched[places], fresh.partition[leaves]])
        driver = first_at_least(position, fresh.starts, partition, gone.weight + self.size)
        turns = fresh.event[driver]
        order = np.lexsort((gone.rows.column(NUMBER).to_numpy(), turns))
        ends = replace(gone, exp=fresh.arrivals.ts[driver], weight=np.ones(len(gone), np.int64))
        log = self._kept(log, schema, numbered.keep(~leaves), after)
        return log, ends.take(order), turns[order]

    def _index(self, log: Log, schema: pa.Schema) -> LastRows:
        return LastRows(log, schema, partition_by=self.partition_by, count=self.size)

    def _earlier(
        self,
        log: Log,
        schema: pa.Schema,
        keys: pa.RecordBatch,
        touched: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
    ) -> tuple[Changes, np.ndarray]:
        """The tuples of earlier steps that leave, and which of the touched partitions each is of.
        Without partitions they lie in the order in which they leave."""
        if self.partition_by:
            low, high = before[touched] - self.size, after[touched] - self.size
            wanted = keys.take(pa.array(touched))
            high = np.minimum(high, before[touched])
            return self._index(log, schema).numbered_within(wanted, low, high)
        span = Span(int(before[0]), int(after[0]), None)
        near = log.touching(span.start, span.end)
        found = [part.within(part.weight + self.size, span) for part in near]
        old = Changes.concat(found, schema)
        return old, np.zeros(len(old), np.int64)

    def _kept(self, log: Log, schema: pa.Schema, stays: Changes, after: np.ndarray) -> Log:
        if self.partition_by:
            return self._index(log, schema).with_more(stays, 0).log
        return log.after(int(after[0])).append(stays, stays.weight + self.size)


def timed(
    log: Log, arrivals: Changes, length: int, span: Span, buffer: Buffer
) -> tuple[Log, Changes]:
    """A window from which time drives tuples out: the log after the step, and who leaves in it."""
    ahead = replace(arrivals, exp=arrivals.ts + (length + 1))
    due = due_in(buffer, log, span)
    now, later = ahead.split(ahead.exp, span.end)
    ends = Changes.concat([*due, now], arrivals.schema)
    return add_waiting(buffer, log, later, span.end), in_order_of_leaving(ends)


def _select(changes: Changes, names: tuple[str, ...]) -> Changes:
    return changes.with_rows(changes.rows.select(list(names)))
