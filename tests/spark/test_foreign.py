"""Rows of DataFrames are admitted like all others: a Spark partition is a partition."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.database import Database
from millstream.engine.clock import Clock
from millstream.engine.hot_keys import HotKeys
from millstream.engine.read_tasks import run_read_task
from millstream.engine.sending import Sender
from millstream.engine.store import encode
from millstream.spark.foreign import Delivered

SCRIPT = "CREATE STREAM s (ts bigint, name string){}; SELECT name FROM s;"


class Fed:
    """A stream without a source, whose rows Spark brings."""

    def __init__(self, order=" ORDER BY ts SLACK 1"):
        session = Database(tell=lambda text: None)
        session.execute(SCRIPT.format(order))
        job = session.job()
        object.__setattr__(job.streams["s"], "foreign", True)
        self.job, self.stream, self.clock = job, job.streams["s"], Clock.start()

    def batch(self, *blobs):
        """Each blob is a partition with rows; the late ones and those that go on."""
        rows = [
            {"part": part, "chunk": chunk, "rows": encode(self._rows(values))}
            for chunk, (part, values) in enumerate(blobs)
        ]
        delivered = Delivered.of(self.stream, rows[::-1])
        sender = Sender(self.job.graph, 1, HotKeys())
        read = run_read_task(delivered.task(self.clock), self.stream, delivered, sender, self.clock)
        self.clock = self.job.advance(self.clock, read.headers)
        on = sorted(int(ts) for *_, changes, _ in read.sent for ts in changes.ts)
        return read.late.column(0).to_pylist(), on

    def _rows(self, values):
        names = [str(value) for value in values]
        return pa.record_batch([pa.array(values), pa.array(names)], self.stream.schema)


def test_partitions_are_judged_for_themselves_and_the_least_heartbeat_counts():
    fed = Fed()
    late, on = fed.batch((0, [10, 20]), (1, [3, 5]), (0, [15, 19]), (1, [3, 4]))
    assert late == [15, 3]
    assert on == [3, 4, 5, 10, 19, 20]
    assert fed.clock.beats["s"] == 5 - 1 - 1
    late, _ = fed.batch((0, [3, 4, 40]))
    assert late == [3], "the heartbeat is 3, and partitions are those of one batch"
    assert fed.clock.beats["s"] == 38


@pytest.mark.parametrize("order", ["", " ORDER BY current_time"])
def test_a_stream_by_arrival_is_one_sequence(order):
    fed = Fed(order)
    assert fed.batch((1, [3]), (0, [1, 2]))[0] == []
    known = fed.clock.sources["s"]
    assert known.rows == 3
    if not order:
        assert fed.clock.beats["s"] == 3
        assert fed.batch((0, [9]))[1] == [4]
