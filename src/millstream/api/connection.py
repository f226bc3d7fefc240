"""A connection to a database that runs on Spark."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api.frames import stream_of, table_of
from millstream.api.handle import QueryHandle
from millstream.database import Database
from millstream.database.events import BatchFinished, Noticed, RunStarted
from millstream.database.run import Delivery
from millstream.engine.job import Job
from millstream.engine.log import ResultLog
from millstream.engine.receivers import Callbacks
from millstream.errors import MillstreamError, Notice
from millstream.files import open_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from millstream.spark.host import SparkHost


def connect(
    spark: SparkSession | None = None,
    master: str | None = None,
    checkpoint: str | None = None,
    settings: Mapping[str, Any] | None = None,
    base: str = ".",
) -> Connection:
    """Open a database of streams on Spark.

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
    """
    if checkpoint is not None:
        open_folder(checkpoint)  # what is wrong with the URL is said here
    return Connection(spark, master, checkpoint, settings or {}, base)


class Subscribers(Callbacks):
    """The functions that want rows, called in a thread that the host lends them."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__()
        self._delivery = delivery

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        with self._delivery.under_way():
            super().rows(name, batch, number)


class Connection:
    """Streams, tables, views and queries, and the one job that runs them.

    Several threads may use one connection. Calls that change something come one after the other,
    each as a whole or not at all; calls that only read do not wait.
    """

    def __init__(
        self,
        spark: SparkSession | None,
        master: str | None,
        checkpoint: str | None,
        settings: Mapping[str, Any],
        base: str,
    ) -> None:
        self._spark, self._master = spark, master
        self._checkpoint = checkpoint
        self.database = Database(base=base)
        self.callbacks = Subscribers(self.database.delivery)
        self.notices: list[Notice] = []
        """What the last start said about its checkpoint."""
        self.database.events.subscribe(lambda event: self.notices.clear(), RunStarted)
        self.database.events.subscribe(lambda event: self.notices.append(event.notice), Noticed)
        for name, value in settings.items():
            self.database.pin(name, str(value))
        self._foreign: dict[str, DataFrame] = {}
        self._host: SparkHost | None = None
        self._last: SparkHost | None = None
        self._log: ResultLog | None = None
        self._lock = threading.Lock()

    @property
    def spark(self) -> SparkSession:
        """The Spark session, made when it is first asked for."""
        with self._lock:
            if self._spark is None:
                from millstream.spark.session import make_session

                self._spark = make_session(self._master)
            return self._spark

    def execute(self, script: str) -> list[QueryHandle]:
        """Carry out statements, all or none; gives a handle for every query they register."""
        return [QueryHandle(self, query) for query in self.database.execute(script)]

    def query(self, text: str, name: str | None = None) -> QueryHandle:
        """Register one query; `notices` of the handle has the defaults it was given."""
        return QueryHandle(self, self.database.query(text, name))

    def drop(self, name: str) -> None:
        """Drop a query, view, stream or table."""
        self.database.drop(name)

    def stream(
        self,
        name: str,
        frame: DataFrame,
        order_by: str | None = None,
        slack: int | str = 0,
        ahead: int | str | None = None,
        idle: int | str | None = None,
    ) -> None:
        """Declare a stream that comes from a Spark streaming DataFrame.

        `order_by` is a timestamp or integer column, or "current_time". `slack`, `ahead` and `idle`
        are lengths of time such as "5 seconds"; for a stream ordered by an integer, `slack` and
        `ahead` are numbers. A number stands for microseconds where a time is meant.
        """
        self._check_stopped("stream")
        self.database.add_stream(stream_of(name, frame, order_by, slack, ahead, idle))
        self._foreign[name] = frame

    def table(
        self,
        name: str,
        frame: DataFrame,
        key: Sequence[str] = (),
        non_retroactive: bool = False,
        slack: int | str = 0,
        idle: int | str | None = None,
    ) -> None:
        """Declare a table whose changes come from a Spark streaming DataFrame.

        The DataFrame has the columns `op` (insert, update or delete) and `ts` (a timestamp or an
        integer) beside those of the table. `key` names the columns that identify a row.
        """
        self._check_stopped("table")
        self.database.add_table(table_of(name, frame, key, non_retroactive, slack, idle))
        self._foreign[name] = frame

    def run(self) -> None:
        """Run to the end of bounded input."""
        host = self._make_host(follow=False)
        self._finish(host, host.run)

    def start(self, follow: bool = True) -> None:
        """Begin to run in the background; sources are followed as they grow."""
        host = self._make_host(follow)
        try:
            host.start()
        except BaseException as error:
            self._host = None
            self.database.end(error)
            raise

    def stop(self) -> None:
        """Finish the running batch and stop."""
        self.database.delivery.check()
        with self._lock:
            host, self._host = self._host, None
        if host is not None:
            self._finish(host, host.stop)

    @property
    def is_running(self) -> bool:
        return self._host is not None and self._host.is_active

    def content(self, name: str) -> pa.RecordBatch | None:
        """What a stored result holds in the job that runs, or held when it ended."""
        return None if self._last is None else self._last.content(name)

    @property
    def log(self) -> ResultLog:
        """The rows of all results, batch by batch."""
        with self._lock:
            if self._log is None:
                if self._checkpoint:
                    folder = open_folder(self._checkpoint).folder("results")
                else:
                    folder = open_folder(tempfile.mkdtemp(prefix="millstream-results-"))
                self._log = ResultLog(folder)
            return self._log

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()
        if self._last is not None:
            self._last.close()

    def _check_stopped(self, kind: str) -> None:
        if self._host is not None:
            raise MillstreamError(
                "a DataFrame cannot be added while the job runs",
                hint=f"Stop it, add the {kind}, and start it again.",
            )

    def _make_host(self, follow: bool) -> SparkHost:
        from millstream.spark.host import SparkHost

        spark, events = self.spark, self.database.events

        def report(batch: Any) -> None:
            with self.database.delivery.under_way():
                events.tell(BatchFinished(batch))

        def make(job: Job) -> SparkHost:
            return SparkHost(
                spark,
                job,
                lambda commit: [self.callbacks, self.log],
                self._checkpoint,
                follow,
                foreign=self._foreign,
                progress=report,
                tell=lambda notice: events.publish(Noticed(notice)),
            )

        host = self.database.start_run(make, self._checkpoint, follow)
        self._host = self._last = host
        return host

    def _finish(self, host: SparkHost, work: Callable[[], None]) -> None:
        """Do the last work of a run; however it ends, the run is over then."""
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:
            failure = error
            raise
        finally:
            if self._host is host:
                self._host = None
            self.database.end(failure)
