"""The Spark session: closed to the outside, quiet, and with this interpreter for workers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from millstream.spark.class_archive import java_options
from millstream.spark.java import find_java
from millstream.spark.java_process import start_java

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


REUSED_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "4000000000",
    "MALLOC_TRIM_THRESHOLD_": "1000000000",
    "MALLOC_TOP_PAD_": "67108864",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
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
    here = master.startswith("local")
    settings = {
        "spark.master": master,
        "spark.app.name": "millstream",
        **SETTINGS,
        "spark.driver.defaultJavaOptions": java_options(java),
        **(CLOSED | LOCAL_LOGS if here else {}),
    }
    start_java(settings, noise, verbose and noise is None)
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN" if verbose else "ERROR")
    return session
