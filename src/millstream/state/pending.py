"""Rows that wait for their instant: handed in early, released when the span reaches them."""

from __future__ import annotations

from millstream.algebra.changes import Changes
from millstream.algebra.state_layout import Buffer
from millstream.algebra.time import Span
from millstream.state.chunks import Log
from millstream.state.waiting import add_waiting, due_in


def release(
    waiting: Log, changes: Changes, span: Span, buffer: Buffer = Buffer.QUEUE
) -> tuple[Log, Changes]:
    """Split what waits and what comes into what is due by the end of the span and what waits on.

    Law: every row comes out once, in the first span whose end is at or after its ts.
    """
    due = due_in(buffer, waiting, span, "ts")
    now, later = changes.split(changes.ts, span.end)
    kept = add_waiting(buffer, waiting, later, span.end, "ts")
    return kept, Changes.concat([*due, now], changes.schema)
