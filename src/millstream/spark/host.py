"""The Spark host: a job as one Structured Streaming query, its work in foreachBatch."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from millstream.connect.source import Source
from millstream.engine.carrier import Carrier, InProcess, threads_here
from millstream.engine.checkpoint import Checkpoint, Commit
from millstream.engine.clock import Clock
from millstream.engine.closing import closing_tasks, has_ended
from millstream.engine.holdings import Held
from millstream.engine.job import Job
from millstream.engine.measures import Measures
from millstream.engine.memory import reuse_memory
from millstream.engine.placement import DRIVER, Placement
from millstream.engine.read_tasks import ReadTask
from millstream.engine.receivers import Receiver
from millstream.engine.report import BatchReport
from millstream.engine.summary import Summary
from millstream.engine.take_up import take_up
from millstream.engine.waiting import Watch
from millstream.engine.work import Work
from millstream.errors import MillstreamError, Notice
from millstream.files import LocalFolder, MissingFile
from millstream.files.opening import spark_url
from millstream.spark.batch_planner import BatchPlanner
from millstream.spark.carrier import Executors
from millstream.spark.job_snapshot import JobSnapshot
from millstream.spark.read_task_source import ReadTaskSource
from millstream.spark.session import register
from millstream.spark.worker_errors import as_raised
from millstream.spark.workers_python import explained

Progress = Callable[[BatchReport], None]

HOST = "spark"
"""What commits call this host."""


class SparkHost:
    """Runs a job on Spark. Queries may be added and dropped between batches with `change`.

    Small batches are carried out in this process, large ones by Spark's executors, whichever is
    cheaper; streams that Spark feeds always go through these. `tell` gets notices, also while the
    job is changed; `waits` those about streams that the run waits for, in a thread of its own.
    `closes` says that time goes on after the end of bounded input, until every window is closed.
    """

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        receivers: Callable[[Commit | None], list[Receiver]],
        checkpoint: str | Checkpoint | None = None,
        follow: bool = False,
        wanted: frozenset[str] | None = None,
        foreign: dict[str, DataFrame] | None = None,
        progress: Progress | None = None,
        tell: Callable[[Notice], None] = lambda notice: None,
        waits: Callable[[Notice], None] = lambda notice: None,
        restart: Iterable[str] = (),
        closes: bool = False,
    ) -> None:
        self.closes = closes
        self.session, self.follow = session, follow
        self.foreign = foreign or {}
        self.progress = progress
        self.watch = Watch(waits)
        self._temporary = None if checkpoint else tempfile.mkdtemp(prefix="millstream-")
        self.checkpoint = Checkpoint.at(checkpoint or self._temporary or "")
        self._scratch = self._scratch_folder()
        cores = session.sparkContext.defaultParallelism
        taken = take_up(self.checkpoint, job, HOST, cores, restart)
        self._tell, self._snapshots = tell, dict[str, JobSnapshot]()
        given = receivers(taken.commit)
        self.driver = taken.driver(self.checkpoint, given, HOST, self._sources, tell, wanted)
        taken.begin(self.driver)
        reuse_memory()
        self.threads = threads_here(cores if _is_one_process(session) else None)
        self.driver.placement = Placement(cores, self.threads)
        self.lock = threading.Lock()
        self.done = threading.Event()
        self.failure: BaseException | None = None
        self._query: Any = None
        self._stopping = self._refused = False
        self.triggers: list[dict[str, Any]] = []
        self._written: tuple[JobSnapshot, str] | None = None

    @property
    def job(self) -> Job:
        return self.driver.job

    @property
    def commit(self) -> Commit | None:
        return self.driver.commit

    @property
    def clock(self) -> Clock:
        return self.driver.last.clock

    @property
    def summary(self) -> Summary:
        """What this run has read and emitted so far."""
        return self.driver.summary

    @property
    def measures(self) -> Measures:
        return self.driver.last.measures

    @property
    def buckets(self) -> int:
        return self.driver.buckets

    def _scratch_folder(self) -> LocalFolder:
        """A folder of this machine for what goes from level to level."""
        folder = self.checkpoint.folder
        if isinstance(folder, LocalFolder):
            return folder.folder("scratch")
        self._temporary = tempfile.mkdtemp(prefix="millstream-")
        return LocalFolder(Path(self._temporary))

    def change(self, job: Job, wanted: frozenset[str] | None = None) -> None:
        """Go on with other queries from the next batch on; operators that stay keep their state."""
        for notice in self.driver.change(job, wanted):
            self._tell(notice)

    def _job_snapshot(self, reader: str, job: Job) -> JobSnapshot:
        """The job as one of its readers sees it, with sources that are its own: the batch planner,
        the executors, or the driver. It is the same one while the job stays the same."""
        known = self._snapshots.get(reader)
        if known is None or known.job is not job:
            scratch = self._scratch.url if _is_one_process(self.session) else None
            state, wanted = self.checkpoint.state.url, self.driver.wanted
            known = JobSnapshot(job, self.follow, self.buckets, state, wanted, scratch)
            self._snapshots[reader] = known
        return known

    def _saved(self, work: Work) -> str:
        """The address of the job as a file, which is written when the job has changed."""
        snapshot = self._job_snapshot("executors", work.job)
        if self._written is None or self._written[0] is not snapshot:
            self._written = snapshot, snapshot.save(self.checkpoint.jobs)
        return self._written[1]

    def _sources(self, job: Job) -> Mapping[str, Source]:
        return self._job_snapshot("driver", job).sources

    def start(self) -> None:
        """Begin to run in the background."""
        self.done.clear()
        self._stopping = self._refused = False
        self._planner = BatchPlanner(
            lambda: self._job_snapshot("planner", self.job),
            self._failed,
            lambda: self.driver.batch_rows(self.job.settings.placement),
            lambda idle: self.watch.look(self.job, self.clock, idle),
            self._closing,
        )
        register(self.session, ReadTaskSource)
        stream = self.session.readStream.format("millstream_read_tasks")
        frame = stream.option("planner", self._planner.address).load()
        for name, other in self.foreign.items():
            frame = frame.unionByName(self._packed(name, other))
        writer = frame.writeStream.foreachBatch(self._batch)
        writer = writer.option("checkpointLocation", spark_url(self.checkpoint.spark))
        try:
            self._query = writer.start()
        except Py4JError as problem:
            self._planner.close()
            raise MillstreamError(
                f"Spark cannot start the run: {_reason(str(problem))}",
                hint="Look at the folder of the checkpoint, and whether Spark may write there.",
            ) from problem

    def run(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Go on until every source has ended, or until `stop` says so; then close the results."""
        self.start()
        try:
            if self.foreign and not self.follow:
                self._query.processAllAvailable()
                self._planner.end_of_feed()
            while not self.done.wait(0.1) and not stop():
                if not self._query.isActive:
                    break
            self._wait_for_spark()
        finally:
            self.stop()

    def _wait_for_spark(self) -> None:
        """Let Spark write down that the last batch is finished before it is stopped."""
        until = time.monotonic() + 2
        while self._query.isActive and self.commit is not None and time.monotonic() < until:
            progress = self._query.lastProgress
            if progress is not None and progress.batchId >= self.commit.batch:
                return
            time.sleep(0.01)

    def stop(self) -> None:
        """Finish the batch that runs, and close the results."""
        if self._query is not None:
            with self.lock:  # no batch runs now, and none begins
                self._stopping = True
                self.triggers = [
                    dict(p.durationMs, rows=p.numInputRows) for p in self._query.recentProgress
                ]
            self._query.stop()
            self._planner.close()
            failure = None if self._refused else self._query.exception()
            self._query = None
            if self.failure is not None:
                raise as_raised(self.failure)
            if failure is not None:
                known = explained(failure)
                if isinstance(known, MillstreamError):
                    raise known
                raise MillstreamError(f"the run was stopped by an error: {_reason(str(failure))}")
        self.finish()

    @property
    def is_active(self) -> bool:
        return self._query is not None and self._query.isActive

    def finish(self) -> None:
        self.driver.close()

    def close(self) -> None:
        """Remove what a run without a checkpoint left behind."""
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def content(self, name: str) -> pa.RecordBatch:
        """What a stored result holds at the heartbeat of the last finished batch."""
        return self.driver.results.content(name)

    def held(self) -> Held | None:
        """What operators hold after the last finished batch, if there is one that is still kept."""
        there = self.commit is not None and self.checkpoint.last() is not None
        return self.driver.held() if there else None

    def _packed(self, name: str, frame: DataFrame) -> DataFrame:
        from millstream.spark.foreign import packed

        return packed(name, frame, self.job.streams[name].schema)

    def _batch(self, frame: DataFrame, number: int) -> None:
        with self.lock:
            if self._stopping:
                self._refused = True
                raise RuntimeError("the run is being stopped")  # Spark must not count it as done
            if self.commit is not None and number <= self.commit.batch:
                return
            try:
                self._run(frame, number)
            except BaseException as error:
                self._failed(error)
                raise

    def _failed(self, error: BaseException) -> None:
        self.failure = self.failure or explained(error)

    def _run(self, frame: DataFrame, number: int) -> None:
        if self.foreign:
            from millstream.spark.foreign import together

            frame = together(frame, self.buckets)
        known, positions = self._planned(number)
        tasks = () if self.foreign else known
        executors = Executors(self.session, frame, self._saved)
        here = bool(tasks) and self.place(number, tasks) == DRIVER
        carrier: Carrier = InProcess(self.threads) if here else executors
        report = self.driver.run(number, tasks, carrier, self._sources, positions, known)
        self._scratch.folder(str(number)).remove_all()
        if report is not None and self.progress is not None:
            self.progress(report)
        if has_ended(self.job, self.clock) and not self._closing(0):
            self.done.set()

    def place(self, number: int, tasks: tuple[ReadTask, ...]) -> str:
        """Where a batch with these read tasks is carried out."""
        return self.driver.placement.choose(self.job.settings.placement, tasks)

    def _closing(self, now: int) -> list[ReadTask]:
        """The read tasks that let time go on after the end, if that was asked for."""
        return closing_tasks(self.job, self.clock, now) if self.closes else []

    def _planned(self, number: int) -> tuple[tuple[ReadTask, ...], dict[str, Any]]:
        """The read tasks of a batch, and the positions after it, from Spark's log of offsets, where
        they are before it starts; none if the log cannot be read."""
        plan = self._plan(number)
        if plan is None:
            return (), {}
        if self.foreign and plan == self._plan(number - 1):  # only Spark has brought something
            return (), plan["positions"]
        return tuple(map(ReadTask.from_json, plan["tasks"])), plan["positions"]

    def _plan(self, number: int) -> dict[str, Any] | None:
        """What the batch planner has answered for a batch: it is the first source of the query."""
        try:
            offsets = self.checkpoint.spark.folder("offsets").get(str(number))
            return json.loads(json.loads(offsets.to_pybytes().splitlines()[2])["plan"])
        except (MissingFile, ValueError, KeyError, IndexError, TypeError):
            return None


def _is_one_process(session: SparkSession) -> bool:
    """True when all workers are on this machine and share its files."""
    master = session.sparkContext.master
    assert master is not None, "a session that runs has a master"
    return master == "local" or master.startswith("local[")


def _reason(text: str) -> str:
    """The line of a long Spark error that says what happened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "Exception" in line]
    return (errors[-1] if errors else lines[0] if lines else text)[:500]
