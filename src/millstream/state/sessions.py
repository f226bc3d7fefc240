"""Sessions: the rows of a step put to the sessions of their partitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.time import DAWN, INFINITY, Span
from millstream.state.ordered_run import OrderedRun


@dataclass(frozen=True, eq=False)
class Sessions:
    """The sessions of the partitions of a step that are open, or were the last ones complete.

    Of every partition these are the session before the newest that was known, that one, and those
    that begin now, side by side from `starts`; the first of them has the number `least`. `end` is
    when each is complete if no more rows come, `left` when the one after it is. `number` and `last`
    are the newest session of every partition by now.
    """

    arrivals: Changes
    of_arrivals: np.ndarray
    numbers_of_arrivals: np.ndarray
    starts: np.ndarray
    least: np.ndarray
    end: np.ndarray
    left: np.ndarray
    some_end: np.ndarray
    has_arrivals: np.ndarray
    number: np.ndarray
    last: np.ndarray

    @staticmethod
    def of(run: OrderedRun, known: pa.RecordBatch, gap: int, span: Span) -> Sessions:
        number, last = run.slot(known, "#number"), run.slot(known, "#last", DAWN)
        fresh = run.numbered(np.zeros(run.partitions, np.int64))
        place, ts = fresh.partition, fresh.arrivals.ts
        is_first = fresh.number == 1
        before = np.where(is_first, last[place], np.concatenate([[DAWN], ts])[:-1])
        begins = (before < ts - gap).astype(np.int64)
        begun = np.concatenate([[0], np.cumsum(begins)])
        new = begun[fresh.starts[1:]] - begun[fresh.starts[:-1]]
        of_each = number[place] + begun[1:] - begun[fresh.starts[place]]
        least = number - 1
        starts = np.concatenate([[0], np.cumsum(new + 2)])
        of_arrivals = starts[place] + of_each - least[place]
        end = np.full(int(starts[-1]), DAWN)
        end[starts[:-1] + 1] = last + (gap + 1)
        np.maximum.at(end, of_arrivals, ts + (gap + 1))
        left = np.full(len(end), INFINITY)
        left[:-1] = end[1:]
        left[starts[1:] - 1] = INFINITY
        ends_now = np.concatenate([[0], np.cumsum((end > span.start) & (end <= span.end))])
        has_arrivals = fresh.starts[1:] > fresh.starts[:-1]
        newest = last.copy()
        newest[has_arrivals] = fresh.newest
        return Sessions(
            fresh.arrivals,
            of_arrivals,
            of_each,
            starts,
            least,
            end,
            left,
            ends_now[starts[1:]] > ends_now[starts[:-1]],
            has_arrivals,
            number + new,
            newest,
        )

    def place(self, partition: np.ndarray, number: np.ndarray) -> np.ndarray:
        """Where the session of a partition with this number lies; −1 for one that is long gone."""
        at = number - self.least[partition]
        return np.where(at >= 0, self.starts[partition] + at, -1)
