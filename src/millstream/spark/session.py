"""The Spark session: closed to the outside, quiet, and with this interpreter for workers."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from millstream.spark.class_archive import java_options
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
    "spark.python.unix.domain.socket.enabled": "true",
}
LOCAL_LOGS = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming"
    ".checkpointing.FileSystemBasedCheckpointFileManager",
}
"""How Spark writes its logs of a stream to folders of this machine: as files that are renamed,
without a process for every file that sets its permissions."""


@contextmanager
def _quiet(noise: Path | None) -> Iterator[None]:
    """Send what the Java process says, at its start and later, to a file instead of the screen."""
    if SparkSession.getActiveSession() is not None or os.environ.get("MILLSTREAM_DEBUG"):
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with _log_file(noise) as log:
        try:
            os.dup2(log.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _log_file(noise: Path | None) -> IO[bytes]:
    if noise is not None:
        return noise.open("ab")
    return tempfile.NamedTemporaryFile(prefix="millstream-spark-", suffix=".log", delete=False)


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


def make_session(
    master: str | None = None, verbose: bool = False, noise: Path | None = None
) -> SparkSession:
    """A session on the given master, by default on this machine with all its cores.

    Every port binds to loopback unless the master is a cluster elsewhere. What the Java process
    says is kept from the screen; when `verbose`, it says its warnings too, to the file `noise` or
    to the screen.
    """
    java = find_java()
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for name, value in REUSED_MEMORY.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    master = master or "local[*]"
    builder = SparkSession.builder.master(master).appName("millstream")
    here = master.startswith("local")
    java_settings = {"spark.driver.defaultJavaOptions": java_options(java)}
    for key, value in {
        **SETTINGS,
        **java_settings,
        **(CLOSED | LOCAL_LOGS if here else {}),
    }.items():
        builder = builder.config(key, value)
    with nullcontext() if verbose and noise is None else _quiet(noise):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN" if verbose else "ERROR")
    return session
