"""The local host: a job in this process. For tests of meaning, golden files and small data."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.connect.opening import open_stream
from millstream.connect.source import Source
from millstream.engine.carrier import Carrier, InProcess, threads_here
from millstream.engine.checkpoint import Checkpoint, Commit
from millstream.engine.clock import Clock
from millstream.engine.closing import closing_tasks
from millstream.engine.driver import Driver
from millstream.engine.holdings import Held
from millstream.engine.hot_keys import HotKeys
from millstream.engine.job import Job
from millstream.engine.measures import Measures
from millstream.engine.memory import reuse_memory
from millstream.engine.placement import DRIVER
from millstream.engine.read_tasks import ReadTask, plan_read_tasks, reopened, with_ticks
from millstream.engine.receivers import Receiver
from millstream.engine.report import BatchReport
from millstream.engine.states import MemoryStates, rows_in
from millstream.engine.store import BucketStore
from millstream.engine.summary import Summary
from millstream.engine.take_up import take_up
from millstream.engine.trail import trail_from_json, trail_to_json
from millstream.engine.waiting import Watch
from millstream.errors import Notice
from millstream.files import Folder
from millstream.local.plans import Plan, Plans
from millstream.operators.retract import OPEN
from millstream.state.chunks import Log

BUCKETS = 2
"""How many there are unless a setting says otherwise."""

HOST = "local"
"""What commits call this host."""

WAIT = 0.05
"""Seconds until sources are looked at again that had nothing new."""

Progress = Callable[[BatchReport], None]


class LocalHost:
    """Runs a job batch by batch in this process, keeping its state in memory or on a checkpoint.

    Law: results do not depend on how many buckets there are or where batches were cut.
    """

    def __init__(
        self,
        job: Job,
        sources: Mapping[str, Source],
        receivers: list[Receiver],
        follow: bool = False,
        closes: bool = False,
    ) -> None:
        wanted, buckets = frozenset(job.changelog_roots), job.settings.buckets or BUCKETS
        driver = Driver(job, receivers, MemoryStates(), buckets, wanted)
        self._begin(driver, sources, follow, closes)

    @classmethod
    def on(
        cls,
        checkpoint: Checkpoint,
        job: Job,
        sources: Mapping[str, Source],
        receivers: Callable[[Commit | None], list[Receiver]],
        follow: bool = False,
        closes: bool = False,
        restart: Iterable[str] = (),
        tell: Callable[[Notice], None] = lambda notice: None,
    ) -> LocalHost:
        """A host that goes on from a checkpoint, and leaves all it knows there."""
        taken = take_up(checkpoint, job, HOST, BUCKETS, restart)
        given = receivers(taken.commit)
        driver = taken.driver(checkpoint, given, HOST, lambda job: sources, tell)
        taken.begin(driver)
        host = cls.__new__(cls)
        host._begin(driver, sources, follow, closes, tell)
        host.plans = Plans(checkpoint.plans)
        host.again = host.plans.get(host.batches)
        if taken.commit is not None:
            host.positions = reopened(sources, taken.commit.positions)
        host.now = max((c.now for c in host.clock.sources.values()), default=0)
        return host

    def _begin(
        self,
        driver: Driver,
        sources: Mapping[str, Source],
        follow: bool,
        closes: bool,
        tell: Callable[[Notice], None] = lambda notice: None,
    ) -> None:
        self.driver, self.sources = driver, sources
        self.driver.sources = lambda job: self.sources
        self.follow, self.closes = follow, closes
        reuse_memory()
        self.carrier: Carrier = InProcess(threads_here())
        self.positions: dict[str, dict[str, Any]] = {}
        self.plans: Plans | None = None
        self.again: Plan | None = None
        """The batch that a run before this one has begun and not finished."""
        self.ticked = self.now = 0
        self.progress: Progress | None = None
        self.watch = Watch(tell)
        self.lock = threading.RLock()
        """Held while a batch runs, and while queries change."""
        self._tell = tell
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._failure: BaseException | None = None

    @property
    def job(self) -> Job:
        return self.driver.job

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
    def batches(self) -> int:
        """How many batches have been finished."""
        return self.driver.last.number + 1

    @property
    def batch_rows(self) -> int:
        """How many rows of a source the next batch may read."""
        return self.driver.batch_rows(DRIVER)

    def run(self, stop: Callable[[], bool] = lambda: False, wait: float = WAIT) -> None:
        """Go on until every source has ended, or until `stop` says so."""
        self._go(stop, wait)
        self.finish()

    def _go(self, stop: Callable[[], bool], wait: float) -> None:
        while not stop() and not self.is_done:
            worked = self.batch()
            self.watch.look(self.job, self.clock, idle=not worked)
            if not worked:
                time.sleep(wait)

    def start(self) -> None:
        """Begin to run in the background."""

        def work() -> None:
            try:
                while self.follow and not self._stopping.is_set():  # streams may still be declared
                    self._go(self._stopping.is_set, WAIT)
                    time.sleep(WAIT)
                self._go(self._stopping.is_set, WAIT)
            except BaseException as error:
                self._failure = error

        self._thread = threading.Thread(target=work, name="millstream", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the batch that runs, and close the results."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            raise self._failure
        self.finish()

    @property
    def is_active(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_done(self) -> bool:
        ended = all(self.positions.get(name, {}).get("ended") for name in self.sources)
        return ended and not self._closing(0)

    def batch(self) -> bool:
        """One batch; False when there was nothing to do."""
        with self.lock:
            now = self.now = max(time.time_ns() // 1000, self.now + 1)
            again, self.again = self.again, None
            tasks, positions = again or self._planned(now)
            if not tasks:
                self.positions = positions  # a source that makes rows remembers when it began
                return False
            if self.plans is not None:
                self.plans.put(self.batches, tasks, positions)
            self.step(tasks, positions)
            return True

    def _planned(self, now: int) -> tuple[list[ReadTask], dict[str, dict[str, Any]]]:
        streams, rows = self.job.streams, self.batch_rows
        tasks, positions = plan_read_tasks(streams, self.sources, self.positions, rows, now)
        tasks = with_ticks(tasks or self._closing(now), streams, positions, now, self.ticked)
        self.ticked = now if tasks else self.ticked
        return tasks, positions

    def _closing(self, now: int) -> list[ReadTask]:
        """The read tasks that let time go on after the end, if that was asked for."""
        return closing_tasks(self.job, self.clock, now) if self.closes else []

    def step(
        self, tasks: list[ReadTask], positions: dict[str, dict[str, Any]] | None = None
    ) -> None:
        """Carry out these read tasks as one batch, which leads to these positions."""
        positions = self.positions if positions is None else positions
        report = self.driver.run(
            self.batches, tasks, self.carrier, lambda job: self.sources, positions
        )
        self.positions = positions
        if report is not None and self.progress is not None:
            self.progress(report)

    def change(self, job: Job, sources: Mapping[str, Source] | None = None) -> tuple[Notice, ...]:
        """Go on with other queries from the next batch on. Sources of streams that are new are
        opened, unless all sources are given."""
        with self.lock:
            self.sources = self._opened(job) if sources is None else sources
            notices = self.driver.change(job)
        for notice in notices:
            self._tell(notice)
        return notices

    def _opened(self, job: Job) -> dict[str, Source]:
        """The sources of another job: those that are open stay open."""
        known, found = self.job.streams, {}
        for name, stream in job.streams.items():
            if name in self.sources and known.get(name) == stream:
                found[name] = self.sources[name]
            elif stream.source is not None:
                found[name] = open_stream(stream, self.follow)
        return found

    def content(self, name: str) -> pa.RecordBatch:
        """What a stored result holds at the heartbeat."""
        return self.driver.results.content(name)

    def finish(self) -> None:
        self.driver.close()

    def close(self) -> None:
        """Nothing is left behind."""

    def held(self) -> Held:
        """What operators hold after the last batch."""
        return self.driver.held()

    @property
    def state_rows(self) -> int:
        """How many rows all operators hold."""
        return sum(map(rows_in, self.held().states))

    def restarted(self, folder: Path | Folder, strategy: str | None = None) -> LocalHost:
        """A new host that goes on where this one is, from files that hold all its state; it may go
        on with another strategy."""
        last = self.driver.last
        moved, states = MemoryStates(), []
        for level in range(1, last.levels + 1):
            for bucket in range(self.driver.buckets):
                store = BucketStore.at(folder, level, bucket)
                store.write(last.number, self.driver.states.read(level, bucket, last.number))
                states.append(store.read(last.number))
                moved.write(level, bucket, last.number, states[-1], -1)
        every = [entry for held in states for entry in held.items()]
        counted = frozenset(name for name, state in every if "counts 0" in state)
        logs = [part for name, state in every if name.startswith(OPEN) for part in state.values()]
        holds_open = any(isinstance(part, Log) and part.chunks for part in logs)
        strategy = strategy or self.job.settings.strategy
        job = self.job.with_strategy(strategy, counted, holds_open)
        host = LocalHost(job, self.sources, self.driver.receivers, self.follow, self.closes)
        clock = Clock.from_json(json.loads(json.dumps(last.clock.to_json())))
        hot = HotKeys.from_json(json.loads(json.dumps(last.hot.to_json())))
        trail = trail_from_json(json.loads(json.dumps(trail_to_json(last.trail))))
        host.driver.states = moved
        host.driver.last = replace(last, clock=clock, hot=hot, trail=trail)
        host.driver.go_on(self.driver)
        host.positions, host.ticked = self.positions, self.ticked
        return host
