"""The Spark host: a job as one Structured Streaming query, its work in foreachBatch."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from millstream.algebra.changes import Changes, concat_rows
from millstream.engine.checkpoint import (
    Checkpoint,
    Commit,
    compare,
    decided,
    fingerprints,
    going_on,
    settled,
    views_of,
)
from millstream.engine.clock import Clock, Header
from millstream.engine.holdings import Held, read_states
from millstream.engine.hot_keys import HotKeys, KeySample
from millstream.engine.job import Job
from millstream.engine.measures import Measures
from millstream.engine.outputs import COMPLETE, in_order, present
from millstream.engine.receivers import Receiver
from millstream.engine.store import BucketStore
from millstream.errors import MillstreamError, Notice
from millstream.operators import Stored
from millstream.spark.batch_planner import BatchPlanner
from millstream.spark.job_snapshot import JobSnapshot
from millstream.spark.read_task_source import ReadTaskSource
from millstream.spark.stages import DRIVER, WIRE, level_runner, opened, packer

CARRIERS = ("inline", "file")
Progress = Callable[["BatchReport"], None]


@dataclass(frozen=True)
class BatchReport:
    """What one batch did: for progress lines and for the benchmark."""

    number: int
    rows: int
    told: int
    seconds: float
    clock: Clock
    state_rows: int
    state_bytes: int
    parts: dict[str, float]


class SparkHost:
    """Runs a job on Spark. Queries may be added and dropped between batches with `change`."""

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        receivers: Callable[[Commit | None], list[Receiver]],
        checkpoint: str | None = None,
        follow: bool = False,
        wanted: frozenset[str] | None = None,
        foreign: dict[str, DataFrame] | None = None,
        progress: Progress | None = None,
        tell: Callable[[Notice], None] = lambda notice: None,
    ) -> None:
        self.session, self.job, self.follow = session, job, follow
        self.foreign = foreign or {}
        self.progress = progress
        self._temporary = None if checkpoint else tempfile.mkdtemp(prefix="millstream-")
        self.checkpoint = Checkpoint(Path(checkpoint or self._temporary or "").absolute())
        self.checkpoint.folder.mkdir(parents=True, exist_ok=True)
        self.commit, notices = self.checkpoint.take_up()
        self._begun = self.commit.batch if self.commit else None
        if self.commit is not None:
            notices += compare(self.commit, job, self.checkpoint.folder)
            self.job = job = settled(job, self.commit, self.checkpoint)
        self.measures = Measures.from_json(self.commit.measures if self.commit else {})
        self.job = job = decided(job, self.commit)
        self.buckets = self._bucket_count(notices)
        for notice in notices:
            tell(notice)
        self.clock = self.commit.clock.without_ends() if self.commit else Clock.start()
        self.hot = HotKeys.from_json(self.commit.hot) if self.commit else HotKeys()
        self.wanted = frozenset(job.changelog_roots) if wanted is None else wanted
        self.receivers = receivers(self.commit)
        self.lock = threading.Lock()
        self.done = threading.Event()
        self.failure: BaseException | None = None
        self._query: Any = None
        self._stopping = self._refused = False
        self.triggers: list[dict[str, Any]] = []
        self._save()

    @property
    def _folder(self) -> Path:
        return self.checkpoint.folder / "job"

    @property
    def _scratch(self) -> Path:
        return self.checkpoint.folder / "scratch"

    def _bucket_count(self, notices: list[Notice]) -> int:
        asked = self.job.settings.buckets or self.session.sparkContext.defaultParallelism
        if self.commit is None or self.commit.buckets == asked:
            return asked
        if self.job.settings.buckets:
            notices.append(Notice(f"buckets = {self.commit.buckets} is kept from the checkpoint"))
        return self.commit.buckets

    def _save(self) -> None:
        self._job_snapshot = JobSnapshot(
            self.job,
            self.follow,
            self.buckets,
            str(self.checkpoint.state),
            self.wanted,
            str(self._scratch) if _is_one_process(self.session) else None,
        )
        self._saved = self._job_snapshot.save(self._folder)

    def change(self, job: Job, wanted: frozenset[str] | None = None) -> None:
        """Go on with other queries from the next batch on; operators that stay keep their state."""
        with self.lock:
            facts = self.measures.statistics(self.job.graph)
            self.job = job = self._settled(job).decided(self.job.choices, facts)
            self.wanted = frozenset(job.changelog_roots) if wanted is None else wanted
            self._save()

    def _settled(self, job: Job) -> Job:
        """Another job, in which queries that go on are told from those that join now."""
        if self._begun is None:
            return job
        marks, known = fingerprints(job), fingerprints(self.job)
        views = views_of(self.job)
        same = {
            q.name: (q.joined, views[q.name])
            for q in self.job.queries
            if known[q.name] == marks.get(q.name)
        }
        job = going_on(job, same, self._begun, self.job.settings.rules)
        if self.commit is not None:
            job = replace(job, counted=self.checkpoint.counted(self.commit))
        return job.after(self.job.settings.ending, self.job.drains)

    def start(self) -> None:
        """Begin to run in the background."""
        self.done.clear()
        self._stopping = self._refused = False
        self._planner = BatchPlanner(lambda: self._job_snapshot, self._failed)
        self.session.dataSource.register(ReadTaskSource)
        stream = self.session.readStream.format("millstream_read_tasks")
        frame = stream.option("planner", self._planner.address).load()
        for name, other in self.foreign.items():
            frame = frame.unionByName(self._packed(name, other))
        writer = frame.writeStream.foreachBatch(self._batch)
        self._query = writer.option("checkpointLocation", str(self.checkpoint.spark)).start()

    def run(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Go on until every source has ended, or until told to stop; then close the results."""
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
            told = self._query.lastProgress
            if told is not None and told.batchId >= self.commit.batch:
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
                raise self.failure
            if failure is not None:
                raise MillstreamError(f"the run was stopped by an error: {_reason(str(failure))}")
        self.finish()

    @property
    def is_active(self) -> bool:
        return self._query is not None and self._query.isActive

    def finish(self) -> None:
        for name in self.job.materialized_roots:
            content = self.content(name)
            for receiver in self.receivers:
                receiver.whole(name, content)
        for receiver in self.receivers:
            receiver.close()

    def close(self) -> None:
        """Remove what a run without a checkpoint left behind."""
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def content(self, name: str) -> pa.RecordBatch:
        """What a stored result holds at the heartbeat of the last finished batch."""
        root = self.job.materialized_roots[name]
        assert isinstance(root, Stored)
        if self.commit is None:
            return in_order(root.content({}, 0))
        level, number = self.job.graph.level[root], self.commit.batch
        if level > self.commit.levels:  # it has joined since
            return in_order(root.content({}, 0))
        beat = self.commit.clock.beats.get(min(self.job.graph.sources[root]), 0)
        parts = [
            root.content(BucketStore.at(self.checkpoint.state, level, b).read(number), beat)
            for b in range(self.buckets)
        ]
        return in_order(concat_rows(parts, root.schema))

    def held(self) -> Held | None:
        """What operators hold after the last finished batch, if there is one that is still kept."""
        commit, state = self.commit, self.checkpoint.state
        if commit is None or not state.exists():
            return None
        states = read_states(state, commit.levels, commit.buckets, commit.batch)
        return Held(self.job, commit.batch, states, self.measures)

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
        self.failure = self.failure or error

    def _left_by(self, level: int) -> int:
        """The batch that left the state of a level; −1 for one that the last batch did not have."""
        return self.commit.batch if self.commit and level <= self.commit.levels else -1

    def _run(self, frame: DataFrame, number: int) -> None:
        started = time.perf_counter()
        self._begun = number
        job, path = self.job, self._saved
        clock, hot = self.clock.to_json(), self.hot.to_json()
        if self.foreign:
            from millstream.spark.foreign import together

            frame = together(frame, self.buckets)
        planned = () if self.foreign else self._planned_tasks(number)
        if planned:
            frame = self.session.range(0, len(planned), 1, len(planned))
        frame = frame.mapInArrow(packer(path, clock, hot, number, planned), WIRE)
        for level in range(1, job.graph.depth + 1):
            frame = frame.repartitionById(self.buckets, "bucket")
            before = self._left_by(level)
            runner = level_runner(path, clock, hot, level, number, before)
            frame = frame.mapInArrow(runner, WIRE)
        table = frame.where(f"level = {DRIVER}").toArrow()
        gathered = time.perf_counter()
        self._finish_batch(job, table.to_pylist(), number, started, gathered)

    def _planned_tasks(self, number: int) -> tuple[tuple[str, ...], ...]:
        """The read tasks of a batch from Spark's log of offsets, a list for every core.

        Spark has written them there before it starts the batch. Taking them from there saves every
        task the way through a Python process that would only hand them on.
        """
        try:
            lines = (self.checkpoint.spark / "offsets" / str(number)).read_text().splitlines()
            tasks = json.loads(json.loads(lines[-1])["plan"])["tasks"]
        except (OSError, ValueError, KeyError, IndexError):
            return ()
        parts = min(len(tasks), self.session.sparkContext.defaultParallelism)
        texts = [json.dumps(task) for task in tasks]
        return tuple(tuple(texts[i::parts]) for i in range(parts))

    def _finish_batch(
        self, job: Job, rows: list[dict[str, Any]], number: int, started: float, gathered: float
    ) -> None:
        headers = [Header(**json.loads(r["blob"])) for r in rows if r["kind"] == "header"]
        if not headers:
            return
        after = job.advance(self.clock, headers)
        told = [(r["number"], json.loads(r["blob"])) for r in rows if r["kind"] == "counts"]
        measures = self.measures.after(told, job.graph, job.spans(self.clock, after))
        samples = [
            KeySample.from_json(json.loads(r["blob"])) for r in rows if r["kind"] == "sample"
        ]
        hot = self.hot.after(samples, job.graph.meetings, self.buckets)
        self._deliver(job, rows, number)
        sizes = {k: v for receiver in self.receivers for k, v in receiver.sizes().items()}
        commit = Commit(
            number,
            after,
            self.buckets,
            sizes,
            {n: s.declared for n, s in job.streams.items()},
            fingerprints(job),
            levels=job.graph.depth,
            joined={q.name: q.joined for q in job.queries if q.joined},
            ending=job.settings.ending,
            drains=job.drains,
            measures=measures.to_json(),
            choices={part: list(steps) for part, steps in job.choices.items()},
            hot=hot.to_json(),
            rules=job.settings.rules,
            views=views_of(job),
            changes=sorted(job.changes),
        )
        self.checkpoint.write(commit)
        self.commit, self.clock = commit, after
        self.measures, self.hot = measures, hot
        shutil.rmtree(self._scratch / str(number), ignore_errors=True)
        self._report(rows, headers, number, started, gathered)
        if job.streams and all(after.sources[n].ended for n in job.streams):
            self.done.set()

    def _deliver(self, job: Job, rows: list[dict[str, Any]], number: int) -> None:
        for row in rows:
            kind, _, name = row["name"].partition(" ")
            if kind in ("late", "errors") and row["kind"] in CARRIERS:
                self._give(f"{name}.{kind}", opened(row), number)
        for name, root in job.changelog_roots.items():
            parts = [
                Changes.from_batch(opened(r))
                for r in rows
                if r["kind"] in CARRIERS and r["name"] == f"result {name}"
            ]
            if parts:
                query = job.query(name)
                told = f"{name}.changes" if query.form == COMPLETE else name
                self._give(told, present(query, Changes.concat(parts, root.schema)), number)

    def _give(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        for receiver in self.receivers:
            receiver.rows(name, batch, number)

    def _report(
        self,
        rows: list[dict[str, Any]],
        headers: list[Header],
        number: int,
        started: float,
        gathered: float,
    ) -> None:
        if self.progress is None:
            return
        stats = [json.loads(r["blob"]) for r in rows if r["kind"] == "stats"]
        ended = time.perf_counter()
        parts = {k: sum(s[k] for s in stats) for k in ("load", "run", "write")}
        parts["spark"] = gathered - started
        parts["driver"] = ended - gathered
        self.progress(
            BatchReport(
                number,
                sum(h.rows for h in headers),
                sum(s["told"] for s in stats),
                ended - started,
                self.clock,
                sum(s["state"] for s in stats),
                sum(s["written"] for s in stats),
                parts,
            )
        )


def _is_one_process(session: SparkSession) -> bool:
    """True when all workers are on this machine and share its files."""
    master = session.sparkContext.master
    assert master is not None, "a session that runs has a master"
    return master == "local" or master.startswith("local[")


def _reason(text: str) -> str:
    """The line of a long Spark error that says what happened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "Error" in line or "Exception" in line]
    return (told[-1] if told else lines[0] if lines else text)[:500]
