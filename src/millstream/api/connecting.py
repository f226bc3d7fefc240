"""`connect`: a connection to a database, with what it was asked for checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millstream.api.connection import Connection
from millstream.api.hosts import HOSTS
from millstream.errors import MillstreamError, closest
from millstream.files import open_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def connect(
    spark: SparkSession | None = None,
    master: str | None = None,
    checkpoint: str | None = None,
    settings: Mapping[str, Any] | None = None,
    base: str = ".",
    host: str = "spark",
    allow_python: bool = False,
) -> Connection:
    """Open a database of streams, on Spark or in this process.

    Parameters
    ----------
    spark : SparkSession, optional
        A session to use; by default one is made when it is first needed.
    master : str, optional
        The master of a session to be made, `local[*]` by default.
    checkpoint : str, optional
        A folder that keeps the state of the run, so that another run can go on from it: a path, or
        a URL that begins with `file:`, `hdfs:` or `s3:`.
    settings : mapping, optional
        Settings such as `{"batch_rows": 100_000}`.
    base : str
        The folder that SOURCE paths are relative to.
    host : str
        Who runs the job: `"spark"`, or `"local"` for this process, without Spark.
    allow_python : bool
        Whether scripts may define aggregates by classes in Python, whose code is then carried out:
        `LANGUAGE python AS 'module:Class'`. Classes that `db.aggregate` is given need no leave.
    """
    if host not in HOSTS:
        near = closest(host, HOSTS)
        raise MillstreamError(
            f'host cannot be "{host}"',
            hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(HOSTS)}.",
        )
    if host == "local" and (spark is not None or master is not None):
        raise MillstreamError(
            'a connection with host="local" has no Spark session',
            hint='Leave out spark and master, or write host="spark".',
        )
    if checkpoint is not None:
        open_folder(checkpoint)  # what is wrong with the URL is said here
    if spark is not None:
        from millstream.spark.workers_python import check_python

        check_python(spark)
    return Connection(spark, master, checkpoint, settings or {}, base, host, allow_python)
