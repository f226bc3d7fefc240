"""The Spark session: closed to the outside, quiet, and with this interpreter for workers."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from millstream.spark.java import find_java

LOOPBACK = "127.0.0.1"
CLOSED = {
    "spark.ui.enabled": "false",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
}
SETTINGS = {
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.python.worker.reuse": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.ui.showConsoleProgress": "false",
    "spark.shuffle.compress": "false",
    "spark.driver.memory": "4g",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


@contextmanager
def _quiet() -> Iterator[None]:
    """Send what the Java process says, at its start and later, to a file instead of the screen."""
    if SparkSession.getActiveSession() is not None or os.environ.get("MILLSTREAM_DEBUG"):
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.NamedTemporaryFile(
        prefix="millstream-spark-", suffix=".log", delete=False
    ) as log:
        try:
            os.dup2(log.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


REUSED_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "4000000000",
    "MALLOC_TRIM_THRESHOLD_": "1000000000",
    "MALLOC_TOP_PAD_": "67108864",
}
"""For workers: columns that were freed are used again, instead of being asked for from the system
page by page for every batch."""


def register(session: SparkSession, source: type[DataSource]) -> None:
    """Make a data source known to a session.

    Spark looks for the name in the active session, which may be another one that has it already,
    and then refuses it here; so this one is the active session meanwhile.
    """
    sessions = SparkSession._get_j_spark_session_class(session._jvm)
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        session.dataSource.register(source)
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def make_session(master: str | None = None) -> SparkSession:
    """A session on the given master, by default on this machine with all its cores.

    Every port binds to loopback unless the master is a cluster elsewhere.
    """
    find_java()
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for name, value in REUSED_MEMORY.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    master = master or "local[*]"
    builder = SparkSession.builder.master(master).appName("millstream")
    here = master.startswith("local")
    for key, value in {**SETTINGS, **(CLOSED if here else {})}.items():
        builder = builder.config(key, value)
    with _quiet():
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
