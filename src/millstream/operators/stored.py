"""Stored: a relation kept so that its content can be read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node, Step
from millstream.algebra.state import Log, State
from millstream.algebra.time import Span
from millstream.operators.to_stream import compact, settle

FEW = 4096
"""Logs shorter than this are not worth compacting."""


@dataclass(frozen=True, eq=False)
class Stored(Node):
    """`SELECT COMPLETE`: the content of a relation at the heartbeat, to be read at any time.

    State: the rows present, as a log that is written anew when it has doubled. It has no output.
    """

    monotonic: ClassVar[bool] = False  # type: ignore[assignment]

    input: Node

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        log: Log = state.get("content", Log()).after(span.end)
        rest = changes.keep(changes.exp > span.end)
        grown = log.append(rest, rest.exp)
        if grown.rows > FEW and grown.rows > 2 * (log.chunks[0].rows if log.chunks else 0):
            whole = compact(self._present(grown, span.end))
            grown = Log().append(whole, whole.exp)
        return {"content": grown}, Changes.empty(self.schema)

    def content(self, state: State, heartbeat: int) -> pa.RecordBatch:
        """The rows present at the heartbeat."""
        rows = self._present(state.get("content", Log()), heartbeat)
        return settle(replace(rows, ts=np.full(len(rows), heartbeat))).rows

    def _present(self, log: Log, heartbeat: int) -> Changes:
        rows = Changes.concat(log.all(), self.schema)
        return rows.keep(rows.exp > heartbeat)
