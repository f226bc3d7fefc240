"""The Java process of Spark: started once, with what it says kept from the screen."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from millstream.spark.home import lean_home

ERROR_OUTPUT = 2
"""The number of its file in every process."""


def start_java(settings: Mapping[str, str], noise: Path | None, on_screen: bool) -> None:
    """Start Java, unless this process has one already.

    What Java says, at its start and later, is for `noise`, or a file of its own; with `on_screen`
    it is seen on the error output. Nothing of it gets into results on standard output, and whoever
    reads these does not wait for Java, which may end later than this process.
    """
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    if on_screen or os.environ.get("MILLSTREAM_DEBUG"):
        SparkContext._ensure_initialized(gateway=_launched(settings, ERROR_OUTPUT))
        return
    with _log_file(noise) as log:
        SparkContext._ensure_initialized(gateway=_launched(settings, log.fileno()))


def _launched(settings: Mapping[str, str], log: int) -> Any:
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    streams = {"stdout": log, "stderr": log}
    with _spark_home(settings["spark.master"].startswith("local")):
        return launch_gateway(conf, popen_kwargs=streams)


@contextmanager
def _spark_home(here: bool) -> Iterator[None]:
    """The environment in which Java starts. Processes on other machines need Spark's archives."""
    home = lean_home() if here else None
    if home is None:
        yield
        return
    os.environ["SPARK_HOME"] = home
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


def _log_file(noise: Path | None) -> IO[bytes]:
    if noise is not None:
        return noise.open("ab")
    return tempfile.NamedTemporaryFile(prefix="millstream-spark-", suffix=".log", delete=False)
