"""The local host: a job in this process. For tests of meaning, golden files and small data."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.connect.opening import open_stream
from millstream.connect.source import Source
from millstream.engine.carrier import Carrier, InProcess
from millstream.engine.clock import Clock
from millstream.engine.driver import Driver
from millstream.engine.holdings import Held
from millstream.engine.hot_keys import HotKeys
from millstream.engine.job import Job
from millstream.engine.measures import Measures
from millstream.engine.read_tasks import ReadTask, plan_read_tasks, with_ticks
from millstream.engine.receivers import Receiver
from millstream.engine.states import MemoryStates, rows_in
from millstream.engine.store import BucketStore
from millstream.engine.trail import trail_from_json, trail_to_json
from millstream.errors import Notice
from millstream.files import Folder
from millstream.operators.retract import OPEN
from millstream.state.chunks import Log


class LocalHost:
    """Runs a job batch by batch in this process, keeping its state in memory.

    Law: results do not depend on how many buckets there are or where batches were cut.
    """

    def __init__(
        self,
        job: Job,
        sources: Mapping[str, Source],
        receivers: list[Receiver],
        follow: bool = False,
    ) -> None:
        wanted = frozenset(job.changelog_roots)
        self.driver = Driver(job, receivers, MemoryStates(), job.settings.buckets or 2, wanted)
        self.sources, self.follow = sources, follow
        self.driver.sources = lambda job: self.sources
        self.carrier: Carrier = InProcess()
        self.positions: dict[str, dict[str, Any]] = {}
        self.ticked = 0

    @property
    def job(self) -> Job:
        return self.driver.job

    @property
    def clock(self) -> Clock:
        return self.driver.last.clock

    @property
    def measures(self) -> Measures:
        return self.driver.last.measures

    @property
    def batches(self) -> int:
        """How many batches have been finished."""
        return self.driver.last.number + 1

    def run(self, stop: Callable[[], bool] = lambda: False, wait: float = 0.05) -> None:
        """Go on until every source has ended, or until `stop` says so."""
        while not stop() and not self.is_done:
            if not self.batch():
                time.sleep(wait)
        self.finish()

    @property
    def is_done(self) -> bool:
        return all(self.positions.get(name, {}).get("ended") for name in self.sources)

    def batch(self) -> bool:
        """One batch; False when there was nothing to do."""
        now = time.time_ns() // 1000
        rows = self.job.settings.batch_rows
        tasks, positions = plan_read_tasks(
            self.job.streams, self.sources, self.positions, rows, now
        )
        tasks = with_ticks(tasks, self.job.streams, positions, now, self.ticked)
        self.ticked = now if tasks else self.ticked
        if not tasks:
            return False
        self.step(tasks, positions)
        return True

    def step(
        self, tasks: list[ReadTask], positions: dict[str, dict[str, Any]] | None = None
    ) -> None:
        """Carry out these read tasks as one batch, which leads to these positions."""
        positions = self.positions if positions is None else positions
        self.driver.run(self.batches, tasks, self.carrier, lambda job: self.sources, positions)
        self.positions = positions

    def change(self, job: Job, sources: Mapping[str, Source] | None = None) -> tuple[Notice, ...]:
        """Go on with other queries from the next batch on. Sources of streams that are new are
        opened, unless all sources are given."""
        self.sources = self._opened(job) if sources is None else sources
        return self.driver.change(job)

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
        return self.driver.content(name)

    def finish(self) -> None:
        self.driver.close()

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
        host = LocalHost(job, self.sources, self.driver.receivers, self.follow)
        clock = Clock.from_json(json.loads(json.dumps(last.clock.to_json())))
        hot = HotKeys.from_json(json.loads(json.dumps(last.hot.to_json())))
        trail = trail_from_json(json.loads(json.dumps(trail_to_json(last.trail))))
        host.driver.states = moved
        host.driver.last = replace(last, clock=clock, hot=hot, trail=trail)
        host.driver.go_on(self.driver)
        host.positions, host.ticked = self.positions, self.ticked
        return host
