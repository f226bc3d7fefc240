"""Spark's executors as carriers: a batch is one job of Spark, each level a stage of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession

from millstream.engine.messages import Message
from millstream.engine.placement import EXECUTORS
from millstream.engine.work import Work
from millstream.spark.stages import level_runner, packer, rereader
from millstream.spark.wire import DRIVER, WIRE, messages_in


@dataclass(frozen=True)
class Executors:
    """Carries a batch out on Spark's executors.

    `frame` has the read tasks that Spark has planned, and blobs of streams that Spark feeds. Where
    the driver knows the read tasks itself, a range of numbers stands for them: that saves every
    task the way through a Python process that would only hand them on. `snapshot` writes the job
    down for the workers, and gives the path.
    """

    place: ClassVar[str] = EXECUTORS
    waited: ClassVar[float] = 0.0

    session: SparkSession
    frame: DataFrame
    snapshot: Callable[[Work], str]

    def carry(self, work: Work) -> Iterator[Message]:
        path, frame = self.snapshot(work), self.frame
        parts = min(len(work.batch.tasks), self.session.sparkContext.defaultParallelism)
        if parts:
            frame = self.session.range(0, parts, 1, parts)
        frame = frame.mapInArrow(packer(path, work.batch, parts), WIRE)
        if again := min(len(work.batch.again.tasks), self.session.sparkContext.defaultParallelism):
            past = self.session.range(0, again, 1, again)
            frame = frame.unionAll(past.mapInArrow(rereader(path, work.batch, again), WIRE))
        for level in range(1, work.job.graph.depth + 1):
            frame = frame.repartitionById(work.buckets, "bucket")
            frame = frame.mapInArrow(level_runner(path, work.batch, level), WIRE)
        return messages_in(frame.where(f"level = {DRIVER}").toArrow().to_pylist())
