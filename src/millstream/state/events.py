"""Intervals as events: what enters and what leaves at the instants of a span."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.state_layout import StateLayout
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import factorize
from millstream.state.chunks import Log
from millstream.state.waiting import add_waiting, due_in


@dataclass(frozen=True, eq=False)
class Events:
    """Rows that enter (`starts`, at their ts) and rows that leave (`ends`, at their exp).

    The weights of `ends` are those of the intervals: leaving counts with the opposite sign.
    """

    starts: Changes
    ends: Changes

    def merged(self) -> Changes:
        """All events as one: ts is the instant, weight what it adds."""
        ends = replace(self.ends, ts=self.ends.exp, weight=-self.ends.weight)
        return Changes.concat([self.starts, ends], self.starts.schema)


def unfold(due: Log, changes: Changes, span: Span, layout: StateLayout) -> tuple[Log, Events]:
    """Turn intervals into the events of the span; ends that come later are kept in the log.

    Where only the content at the end of the span matters (`layout.at_once`), all events are at that
    instant, and what comes and goes before is left out.
    State: the rows whose known expiration lies ahead. Cost: the batch and what falls due in it.
    """
    due, events = unfold_all(due, changes, span, layout)
    if layout.at_once:
        return due, replace(events, ends=cancelled(events.ends))
    return due, Events(changes, cancelled(events.ends.sorted_by_exp()))


def unfold_all(due: Log, changes: Changes, span: Span, layout: StateLayout) -> tuple[Log, Events]:
    """The same with the ends of retracted rows and of the rows that retracted them, in any order:
    for callers who add up events of equal rows anyhow."""
    buffer = layout.buffer
    done, later = changes.split(changes.exp, span.end)
    ahead = later.keep(later.exp != INFINITY)
    kept = add_waiting(buffer, due, ahead, span.end)
    ends = due_in(buffer, due, span)
    if layout.at_once:
        return kept, _at(span.end, later, Changes.concat(ends, changes.schema))
    return kept, Events(changes, Changes.concat([*ends, done], changes.schema))


def _at(instant: int, starts: Changes, ends: Changes) -> Events:
    """The events as if all of them were at one instant."""
    return Events(
        replace(starts, ts=np.full(len(starts), instant)),
        replace(ends, exp=np.full(len(ends), instant)),
    )


def settled(events: Events) -> Events:
    """The same events without rows that leave and enter as the same tuple at one instant."""
    every = events.merged()
    found = summed(every, every.ts)
    return Events(found.in_time_order(), Changes.empty(found.schema))


def summed(rows: Changes, *instants: np.ndarray) -> Changes:
    """Rows of one tuple and instant as one, with the sum of their weights; none of weight 0."""
    index, sums = add_up(rows, *instants)
    return replace(rows.take(index), weight=sums)


def add_up(rows: Changes, *beside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first row of every tuple with equal numbers beside it, and the sum of their weights.

    Those whose weights come to nothing are left out.
    """
    keys = [*rows.rows.columns, pa.array(rows.seq), *map(pa.array, beside)]
    codes, first = factorize(keys, len(rows))
    sums = np.bincount(codes, weights=rows.weight, minlength=len(first)).astype(np.int64)
    kept = np.flatnonzero(sums)
    return first[kept], sums[kept]


def netted(rows: Changes) -> Changes:
    """The same without rows that are retracted at the instant at which they begin."""
    return rows if (rows.weight > 0).all() else summed(rows, rows.ts, rows.exp)


def net(events: Changes, columns: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add up events that are equal in the columns and the instant.

    Gives the number of every event's sum, the sums, and the first event of each.
    """
    keys = [events.rows.column(events.rows.schema.get_field_index(c)) for c in columns]
    codes, first = factorize([*keys, pa.array(events.ts)], len(events))
    sums = np.bincount(codes, weights=events.weight, minlength=len(first)).astype(np.int64)
    return codes, sums, first


def cancelled(ends: Changes) -> Changes:
    """One end for rows of the same tuple: rows that left early go, with those that retract them."""
    return summed(ends, ends.exp) if (ends.weight < 0).any() else ends
