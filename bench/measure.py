"""How the benchmark measures: one run of ours, one run of Spark's own, on the same files."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.database import Database
from millstream.engine.job import Job
from millstream.engine.report import BatchReport
from millstream.spark.host import SparkHost

STREAM = (
    "CREATE STREAM {name} (item bigint, price double, bidder bigint, ts timestamp) "
    "ORDER BY ts SOURCE '{folder}/*.parquet';"
)
COLUMNS = "item long, price double, bidder long, ts timestamp"


@dataclass(frozen=True)
class Measured:
    """Rows, the seconds that Spark says its batches took, and what our batches reported."""

    rows: int
    seconds: float
    batches: tuple[BatchReport, ...] = ()
    triggers: tuple[dict[str, Any], ...] = ()

    @property
    def rate(self) -> float:
        return self.rows / self.seconds


def ours(
    spark: SparkSession, streams: dict[str, Path], query: str, rows: int, batch_rows: int | None
) -> Measured:
    """Run queries of ours over the files, with a checkpoint and nobody taking the rows.

    Without `batch_rows`, batches are as large as the default settings make them.
    """
    session = Database()
    if batch_rows is not None:
        session.pin("batch_rows", str(batch_rows))
    for name, folder in streams.items():
        session.execute(STREAM.format(name=name, folder=folder.absolute()))
    session.execute(query)
    triggers, reports = carry_out(spark, session.job())
    seconds = sum(t["triggerExecution"] for t in triggers) / 1000
    return Measured(rows, seconds, reports, triggers)


def carry_out(
    spark: SparkSession, job: Job
) -> tuple[tuple[dict[str, Any], ...], tuple[BatchReport, ...]]:
    """Run a job with a checkpoint and nobody taking its rows: what Spark and we tell of batches."""
    reports: list[BatchReport] = []
    checkpoint = tempfile.mkdtemp(prefix="millstream-bench-")
    host = SparkHost(
        spark,
        job,
        lambda commit: [],
        checkpoint,
        wanted=frozenset(),
        progress=reports.append,
    )
    try:
        host.run()
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    triggers = tuple(t for t in host.triggers if t.get("addBatch"))
    assert len(triggers) == len(reports), "Spark has not told of every batch"
    return triggers, tuple(reports)


def sparks(frame: DataFrame, rows: int, mode: str) -> Measured:
    """Run a streaming query of Spark's own into a sink that drops the rows, with a checkpoint."""
    checkpoint = tempfile.mkdtemp(prefix="millstream-bench-")
    try:
        writer = frame.writeStream.format("noop").outputMode(mode)
        writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        query = writer.start()
        query.awaitTermination()
        triggers = [p.durationMs for p in query.recentProgress if p.numInputRows]
        return Measured(rows, sum(t["triggerExecution"] for t in triggers) / 1000)
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)


def source(spark: SparkSession, folder: Path, files: int) -> DataFrame:
    reader = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", files)
    return reader.option("pathGlobFilter", "*.parquet").parquet(str(folder))


def middle(values: list[float]) -> float:
    return median(values)
