"""Rows that wait for their instant: handed in early, given out when the span reaches them."""

from __future__ import annotations

from millstream.algebra.changes import Changes
from millstream.algebra.state import Log
from millstream.algebra.time import Span
from millstream.columns.order import stable_order


def release(waiting: Log, changes: Changes, span: Span) -> tuple[Log, Changes]:
    """Split what waits and what comes into what is due by the end of the span and what waits on.

    Law: every row comes out once, in the first span whose end is at or after its ts.
    What waits lies in the order of its ts, so that a span looks at no more than it takes.
    """
    due = [part.within(part.ts, span) for part in waiting.touching(span.start, span.end)]
    now, later = changes.split(changes.ts, span.end)
    order = stable_order(later.ts)
    later = later if order is None else later.take(order)
    kept = waiting.after(span.end).append(later, later.ts)
    return kept, Changes.concat([*due, now], changes.schema)
