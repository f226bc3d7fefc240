"""Stored results: what queries hold after the last finished batch, and how it leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever
from millstream.algebra.node import Node
from millstream.algebra.time import Span
from millstream.engine.finished import Finished
from millstream.engine.job import Job
from millstream.engine.outputs import in_order, present
from millstream.engine.states import StateStore
from millstream.operators import Stored, Tagged


@dataclass(frozen=True)
class StoredResults:
    """The stored results of a job, as a batch has left them."""

    job: Job
    last: Finished
    states: StateStore
    buckets: int

    def __contains__(self, name: str) -> bool:
        return name in self.job.materialized_roots

    def content(self, name: str) -> pa.RecordBatch:
        """What a result holds at the heartbeat."""
        root = self.job.materialized_roots[name]
        stored = root if isinstance(root, Stored) else root.inputs[0]
        assert isinstance(stored, Stored)
        level = self.job.graph.level[root]
        if level > self.last.levels:  # it has joined since
            return in_order(stored.content({}, 0))
        parts = [
            stored.content(self.states.read(level, bucket, self.last.number), self._beat(root))
            for bucket in range(self.buckets)
        ]
        return in_order(concat_rows(parts, root.schema))

    def withdrawal(self, name: str) -> pa.RecordBatch:
        """The changes that take all rows of a result away, at the heartbeat."""
        query, rows = self.job.query(name), self.content(name)
        tagged, instant = query.changes_root, self._beat(self.job.materialized_roots[name])
        assert isinstance(tagged, Tagged), "only a relation is stored"
        ts, once = np.full(rows.num_rows, instant), np.ones(rows.num_rows, np.int64)
        leaving = Changes(rows, ts, forever(len(ts)), -once, -once)
        return present(query, tagged.step({}, leaving, Span(instant - 1, instant, None))[1])

    def _beat(self, root: Node) -> int:
        return self.last.clock.beats.get(min(self.job.graph.sources[root]), 0)
