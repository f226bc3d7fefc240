"""Rows that wait for their instant: handed in early, released when the span reaches them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

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
    kept, due = released(waiting, [changes], span, changes.schema, buffer)
    return kept, Changes.concat(due, changes.schema)


def released(
    waiting: Log,
    parts: Sequence[Changes],
    span: Span,
    schema: pa.Schema,
    buffer: Buffer = Buffer.QUEUE,
) -> tuple[Log, list[Changes]]:
    """The same for what comes in several parts, which stay apart."""
    due, later = due_in(buffer, waiting, span, "ts"), []
    for part in parts:
        now, rest = part.split(part.ts, span.end)
        due.append(now)
        later.append(rest)
    return add_waiting(buffer, waiting, Changes.concat(later, schema), span.end, "ts"), due
