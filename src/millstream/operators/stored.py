"""Stored: a relation kept so that its content can be read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.kept import Extent, Kept, Structure, ending
from millstream.algebra.node import Node, Step
from millstream.algebra.state import Log, State
from millstream.algebra.time import INFINITY, Span
from millstream.operators.to_stream import compact, settle

FEW = 4096
"""Logs shorter than this are not worth compacting."""


@dataclass(frozen=True, eq=False)
class Stored(Node):
    """`SELECT COMPLETE`: the content of a relation at the heartbeat, to be read at any time.

    State: the rows present. Those with a known end wait for it, and are dropped with their chunk;
    open ones are a log that is written anew, without what was taken back, when it has doubled.
    It has no output. Cost: the batch.
    """

    monotonic: ClassVar[bool] = False  # type: ignore[assignment]
    keeps: ClassVar[tuple[Kept, ...]] = (
        Kept("content", "rows without a known end", Structure.LIST, Extent.ROWS),
        ending("ending"),
    )

    input: Node

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        rest = changes.keep(changes.exp > span.end)
        ending = rest.exp != INFINITY
        content, ends = state.get("content", Log()), state.get("ending", Log())
        if not ending.all():
            content = _grown(content, rest.keep(~ending), span)
        ends = self.manner.buffer.add(ends, rest.keep(ending), span.end)
        return {"content": content, "ending": ends}, Changes.empty(self.schema)

    def content(self, state: State, heartbeat: int) -> pa.RecordBatch:
        """The rows present at the heartbeat."""
        parts = [part for name in ("content", "ending") for part in state.get(name, Log()).all()]
        rows = Changes.concat(parts, self.schema)
        rows = rows.keep(rows.exp > heartbeat)
        return settle(replace(rows, ts=np.full(len(rows), heartbeat))).rows


def _grown(log: Log, rows: Changes, span: Span) -> Log:
    """The log of open rows with more of them."""
    log = log.after(span.end)
    grown = log.append(rows, rows.exp)
    if grown.rows <= FEW or grown.rows <= 2 * (log.chunks[0].rows if log.chunks else 0):
        return grown
    whole = compact(Changes.concat(grown.all(), rows.schema))
    return Log().append(whole, whole.exp)
