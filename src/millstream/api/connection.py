"""A connection to a database whose job runs on Spark, or in this process."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api.frames import stream_of, table_of
from millstream.api.handle import QueryHandle
from millstream.api.hosts import Asked, RunningHost, host_for
from millstream.api.subscribers import Subscribers
from millstream.database import Database
from millstream.database.checking import Checked
from millstream.database.contents import Contents
from millstream.database.events import Noticed, QueryDropped, RunStarted
from millstream.database.held import Instant
from millstream.database.metrics import Metrics
from millstream.database.python_routines import Types, handed_over
from millstream.database.reading import read
from millstream.engine.checkpoint import Checkpoint, Commit
from millstream.engine.closing import left_open
from millstream.engine.job import Job
from millstream.engine.log import ResultLog
from millstream.engine.receivers import Receiver
from millstream.engine.script_changes import changes
from millstream.engine.set_aside import results_of
from millstream.engine.snapshot import Snapshot
from millstream.engine.summary import Summary
from millstream.errors import MillstreamError, Notice
from millstream.files import open_folder, ordinary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ANEW = "other DataFrames are read than in the run before: everything is read again"


class Connection:
    """Streams, tables, views and queries, and the one job that runs them.

    Several threads may use one connection. Calls that change something come one after the other,
    each as a whole or not at all; calls that only read do not wait.

    A run goes on where the one before it ended: on the checkpoint, or as long as the connection is
    open in a folder of its own.
    """

    def __init__(
        self,
        spark: SparkSession | None,
        master: str | None,
        checkpoint: str | None,
        settings: Mapping[str, Any],
        base: str,
        host: str = "spark",
        allow_python: bool = False,
    ) -> None:
        self._spark, self._master, self._host_kind = spark, master, host
        self._checkpoint = checkpoint
        self._own: TemporaryDirectory | None = None
        self.database = Database(
            base=base,
            follow=True,
            checkpoint=checkpoint,
            contents=Contents(allows_python=allow_python),
        )
        if checkpoint is not None:
            self.database.recall(checkpoint)
        self.callbacks = Subscribers(self.database.delivery, self.database.events)
        self.notices: list[Notice] = []
        """What the last start said about its checkpoint, which streams the run waited for, and what
        was inferred since."""
        self.database.events.subscribe(lambda event: self.notices.clear(), RunStarted)
        self.database.events.subscribe(lambda event: self.notices.append(event.notice), Noticed)
        self.database.events.subscribe(self._note_dropped, QueryDropped)
        for name, value in settings.items():
            self.database.pin(name, str(value))
        self._foreign: dict[str, DataFrame] = {}
        self._ran_with: frozenset[str] | None = None
        """The DataFrames of the last run, by name; None before the first."""
        self._dropped: set[str] = set()
        """Queries that were dropped since the last run."""
        self._host: RunningHost | None = None
        self._last: RunningHost | None = None
        self._log: ResultLog | None = None
        self._closed = False
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
        self.check_open()
        return [QueryHandle(self, query) for query in self.database.execute(script)]

    def check(self, script: str, sources: bool = True) -> Checked:
        """Every mistake of a script and every notice, as if it were executed here; nothing is.

        Without `sources`, files and databases are not opened, and need not be there.
        """
        return self.database.check(script, sources)

    def query(self, text: str, name: str | None = None) -> QueryHandle:
        """Register one query; `notices` of the handle has the defaults it was given."""
        self.check_open()
        return QueryHandle(self, self.database.query(text, name))

    def drop(self, name: str) -> None:
        """Drop a query, view, stream or table."""
        self.check_open()
        self.database.drop(name)

    def aggregate(
        self,
        name: str | type,
        given: type | None = None,
        *,
        arguments: Mapping[str, str | type] | None = None,
        returns: Types | None = None,
    ) -> Any:
        """Let a name mean an aggregate that is a class in Python, in the place of what it meant.

        `arguments` and `returns` give types by name, as `{"x": "double"}` or `{"x": float}`;
        `returns` may be a single type. Where they are not given, annotations of `iterate` and
        `terminate` are used. As a decorator, `@db.aggregate` or `@db.aggregate("name")`.
        """
        self.check_open()
        if isinstance(name, type):
            return self.aggregate(name.__name__, name)
        if given is None:
            return lambda one: self.aggregate(name, one, arguments=arguments, returns=returns)
        self.database.add_python(handed_over(name, given, arguments, returns))
        return given

    def stream(
        self,
        name: str,
        frame: DataFrame,
        order_by: str | None = None,
        slack: int | str = 0,
        ahead: int | str | None = None,
        idle: int | str | None = None,
        silence: str | None = None,
    ) -> None:
        """Declare a stream that comes from a Spark streaming DataFrame.

        `order_by` is a timestamp or integer column, or "current_time". A column that counts a unit
        of time is given with it, as "t seconds". `slack`, `ahead` and `idle` are lengths of time
        such as "5 seconds"; for a stream ordered by an integer without a unit, `slack` and `ahead`
        are numbers. A number stands for microseconds where a time is meant. `silence="clock"` lets
        time go on by the clock when all that a query reads has been silent for longer than `idle`.
        """
        self._check_stopped("stream")
        self.database.add_stream(stream_of(name, frame, order_by, slack, ahead, idle, silence))
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

    def run(self, close: bool = False, restart: Sequence[str] = ()) -> None:
        """Run to the end of bounded input, from where the run before has ended.

        With `close`, time goes on after the last row until every window is closed. `restart` names
        queries that start fresh though the checkpoint has something else of theirs; what they have
        left is kept beside it.
        """
        host = self._make_host(Asked(False, close, restart))
        self._finish(host, host.run)
        if (notice := left_open(host.job, host.clock)) is not None:
            self.database.events.tell(Noticed(notice))

    def start(self, follow: bool = True, restart: Sequence[str] = ()) -> None:
        """Begin to run in the background, from where the run before has ended; sources are followed
        as they grow."""
        host = self._make_host(Asked(follow, restart=restart))
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
        self.check_open()
        return None if self._last is None else self._last.content(name)

    def read(self, text: str, as_of: Instant | None = None) -> pa.Table:
        """The answer of one query over what stored results and tables hold, once.

        It reads what the last finished batch has left, while the job runs and after, and waits for
        nobody. `as_of` is an instant that was, for all names without an AS OF of their own.
        """
        self.check_open()
        return read(text, self.database.contents, self._snapshot, as_of)

    def _snapshot(self) -> Snapshot | None:
        return None if self._last is None else self._last.driver.snapshot

    def summary(self) -> Summary:
        """What the run has read and emitted so far: rows, late and bad ones, of every stream and
        query; of the last run, if none is under way."""
        return self.database.summary

    def metrics(self) -> Metrics:
        """How many batches the run has carried out so far, where, how fast, and its lag."""
        return self.database.metrics()

    @property
    def log(self) -> ResultLog:
        """The rows of all results, batch by batch."""
        self.check_open()
        with self._lock:
            if self._log is None:
                self._log = ResultLog(open_folder(self._folder).folder("results"))
            return self._log

    def close(self) -> None:
        """Stop, and remove what a connection without a checkpoint has kept. A connection that is
        closed stays so; closing it again does nothing."""
        if self._closed:
            return
        try:
            self.stop()
        finally:
            self._closed = True
            if self._last is not None:
                self._last.close()
            if self._own is not None:
                self._own.cleanup()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def check_open(self) -> None:
        """An error in a connection that was closed."""
        if self._closed:
            raise MillstreamError(
                "the connection is closed",
                hint="Read results before db.close() or the end of its with block, "
                "or open another with millstream.connect.",
            )

    @property
    def _folder(self) -> str:
        """The checkpoint, or a folder that lives as long as the connection."""
        if self._checkpoint is not None:
            return self._checkpoint
        if self._own is None:
            self._own = TemporaryDirectory(prefix="millstream-")
        return self._own.name

    def _check_stopped(self, kind: str) -> None:
        self.check_open()
        if self._host_kind == "local":
            raise MillstreamError(
                f'a DataFrame cannot be a {kind} of a connection with host="local"',
                hint='Open the connection with host="spark".',
            )
        if self._host is not None:
            raise MillstreamError(
                "a DataFrame cannot be added while the job runs",
                hint=f"Stop it, add the {kind}, and start it again.",
            )

    def _make_host(self, asked: Asked) -> RunningHost:
        self.check_open()
        self.database.sources(asked.follow)  # a fault in a source is raised before Spark starts
        spark = self.spark if self._host_kind == "spark" else None
        if anew := self._begins_anew():
            self._forget_run()

        left: dict[str, pa.RecordBatch] = {}

        def make(job: Job) -> RunningHost:
            replaced = self._replaced(job)
            left.update(self._left_by(replaced))
            restart = {*asked.restart, *replaced}
            return host_for(
                self.database,
                job,
                lambda commit: self._receivers(job, commit),
                replace(asked, restart=restart),
                spark,
                self._foreign,
            )

        host = self.database.start_run(make, self._folder, asked.follow)
        if self._last is not None:
            self._last.close()
        self._host = self._last = host
        for name, rows in left.items():
            self.callbacks.withdrawn(name, rows)
        self._ran_with, self._dropped = frozenset(self._foreign), set()
        for notice in self.database.empty_streams:
            self.database.events.tell(Noticed(notice))
        if anew:
            self.database.events.tell(Noticed(Notice(ANEW)))
        return host

    def _begins_anew(self) -> bool:
        """Whether a run cannot go on: Spark knows its place in its own sources only as long as
        these are the same."""
        same = self._ran_with is None or self._ran_with == frozenset(self._foreign)
        return not same and self._checkpoint is None

    def _forget_run(self) -> None:
        """Keep nothing of the runs so far, but what statements have fed to tables."""
        before, self._own, self._log = self._own, None, None
        if before is not None and (tables := Path(before.name, "tables")).exists():
            shutil.copytree(tables, Path(self._folder, "tables"))

    def _replaced(self, job: Job) -> set[str]:
        """The queries that statements of this connection have replaced since its last run: who
        dropped one has asked for it to start fresh."""
        if self._ran_with is None or (commit := Checkpoint.at(self._folder).last()) is None:
            return set()
        again = {query.name for query in job.queries} & self._dropped
        return again | set(changes(commit, job))

    def _left_by(self, replaced: Iterable[str]) -> dict[str, pa.RecordBatch]:
        """The changes by which the rows of replaced queries leave, which the last run has left."""
        if self._last is None:
            return {}
        results = self._last.driver.results
        return {name: results.withdrawal(name) for name in replaced if name in results}

    def _note_dropped(self, event: QueryDropped) -> None:
        if self._host is None:  # a job that runs has dropped it by itself
            self._dropped.add(event.query.name)

    def _receivers(self, job: Job, commit: Commit | None) -> list[Receiver]:
        """Who gets the rows; what queries that start fresh have left is set aside."""
        if commit is not None:
            for query in (q for q in job.queries if q.name in commit.gone):
                for result in results_of(query.name):
                    self.log.set_aside(result, commit.batch)
        return [self.callbacks, self.log]

    def _finish(self, host: RunningHost, work: Callable[[], None]) -> None:
        """Do the last work of a run; however it ends, the run is over then."""
        failure: BaseException | None = None
        try:
            work()
        except OSError as error:
            failure = ordinary(error)
            raise failure from error
        except BaseException as error:
            failure = error
            raise
        finally:
            if self._host is host:
                self._host = None
            self.database.end(failure)
