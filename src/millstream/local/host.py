"""The local host: a job in this process. For tests of meaning, golden files and small data."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows
from millstream.algebra.node import Node
from millstream.connect.source import Source
from millstream.engine.clock import Clock
from millstream.engine.holdings import Held
from millstream.engine.hot_keys import HotKeys
from millstream.engine.job import Job
from millstream.engine.level import Bucket, Level
from millstream.engine.measures import Counts, Measures
from millstream.engine.outputs import in_order, present
from millstream.engine.read_tasks import (
    TICK,
    ReadResult,
    ReadTask,
    plan_read_tasks,
    run_read_task,
    ticks,
)
from millstream.engine.receivers import Receiver
from millstream.engine.sending import Sender
from millstream.engine.store import BucketStore
from millstream.operators import Stored
from millstream.operators.retract import OPEN
from millstream.state.chunks import Log, State

Mailbox = dict[tuple[Node, int], list[Changes]]


@dataclass
class LocalHost:
    """Runs a job batch by batch, keeping its state in memory.

    `states` is by level, bucket and operator. A law of the system says that nothing outside can
    tell how many buckets there are or where batches were cut.
    """

    job: Job
    sources: Mapping[str, Source]
    receivers: list[Receiver]
    clock: Clock = field(default_factory=Clock.start)
    positions: dict[str, dict[str, Any]] = field(default_factory=dict)
    states: dict[tuple[int, int], dict[str, State]] = field(default_factory=dict)
    hot: HotKeys = field(default_factory=HotKeys)
    batches: int = 0
    ticked: int = 0
    measures: Measures = field(default_factory=Measures)

    @property
    def buckets(self) -> int:
        return self.job.settings.buckets or 2

    def run(self, stop: Callable[[], bool] = lambda: False, wait: float = 0.05) -> None:
        """Go on until every source has ended, or until told to stop."""
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
        if not tasks and now - self.ticked >= TICK:
            tasks = ticks(self.job.streams, positions, now)
        self.ticked = now if tasks else self.ticked
        if not tasks:
            return False
        self.step(tasks)
        self.positions = positions
        return True

    def step(self, tasks: list[ReadTask]) -> None:
        """Read, run all levels, and hand out the results."""
        streams = self.job.streams
        sender = Sender(self.job.graph, self.buckets, self.hot)
        reads = [
            run_read_task(e, streams[e.source], self.sources.get(e.source), sender, self.clock)
            for e in tasks
        ]
        self._take(reads, [e.source for e in tasks], sender)

    def _take(self, reads: list[ReadResult], names: list[str], sender: Sender) -> None:
        headers = [header for read in reads for header in read.headers]
        after = self.job.advance(self.clock, headers)
        spans = self.job.spans(self.clock, after)
        told = [(0, read.counts) for read in reads]
        results = self._levels(reads, spans, sender, told)
        self.measures = self.measures.after(told, self.job.graph, spans)
        self.clock = after
        self.hot = self.hot.after(sender.samples, self.job.graph.meetings, self.buckets)
        self.batches += 1
        for name, read in zip(names, reads):
            if self.job.streams[name].of is not None:
                continue
            self._give(f"{name}.late", read.late)
            self._give(f"{name}.errors", read.errors)
        for name, root in self.job.changelog_roots.items():
            query = self.job.query(name)
            out = present(query, Changes.concat(results[root], root.schema))
            self._give(f"{name}.changes" if query.form == "complete" else name, out)

        for receiver in self.receivers:
            receiver.sizes()

    def content(self, name: str) -> pa.RecordBatch:
        """What a stored result holds at the heartbeat."""
        root = self.job.materialized_roots[name]
        stored = root if isinstance(root, Stored) else root.inputs[0]
        assert isinstance(stored, Stored)
        level = self.job.graph.level[root]
        beat = self.clock.beats.get(min(self.job.graph.sources[root]), 0)
        parts = [stored.content(self.states.get((level, b), {}), beat) for b in range(self.buckets)]
        return in_order(concat_rows(parts, root.schema))

    def restarted(self, folder: Path, strategy: str | None = None) -> LocalHost:
        """A new host that goes on where this one is, from files that hold all its state; it may go
        on with another strategy."""
        for at, held in self.states.items():
            BucketStore.at(folder, *at).write(self.batches, held)
        states = {at: BucketStore.at(folder, *at).read(self.batches) for at in self.states}
        clock = Clock.from_json(json.loads(json.dumps(self.clock.to_json())))
        hot = HotKeys.from_json(json.loads(json.dumps(self.hot.to_json())))
        every = [entry for held in self.states.values() for entry in held.items()]
        counted = frozenset(name for name, state in every if "counts 0" in state)
        logs = [part for name, state in every if name.startswith(OPEN) for part in state.values()]
        holds_open = any(isinstance(part, Log) and part.chunks for part in logs)
        strategy = strategy or self.job.settings.strategy
        job = self.job.with_strategy(strategy, counted, holds_open)
        return replace(self, job=job, clock=clock, states=states, hot=hot)

    def finish(self) -> None:
        for name in self.job.materialized_roots:
            content = self.content(name)
            for receiver in self.receivers:
                receiver.whole(name, content)
        for receiver in self.receivers:
            receiver.close()

    def held(self) -> Held:
        """What operators hold after the last batch."""
        return Held(self.job, self.batches, tuple(self.states.values()))

    @property
    def state_rows(self) -> int:
        """How many rows all operators hold."""
        return sum(
            part.rows if isinstance(part, Log) else part.num_rows
            for states in self.states.values()
            for state in states.values()
            for part in state.values()
        )

    def _give(self, name: str, rows: pa.RecordBatch) -> None:
        for receiver in self.receivers:
            receiver.rows(name, rows, self.batches)

    def _levels(
        self,
        reads: list[ReadResult],
        spans: Mapping[Node, Any],
        sender: Sender,
        told: list[tuple[int, Counts]],
    ) -> dict[Node, list[Changes]]:
        """The results of all levels; what their operators did is added to `told`."""
        graph = self.job.graph
        mail: Mailbox = {}
        for read in reads:
            for box, place, changes, _ in read.sent:
                mail.setdefault((box, place), []).append(changes)
        results: dict[Node, list[Changes]] = {root: [] for root in graph.roots}
        for number in range(1, graph.depth + 1):
            for place in range(self.buckets):
                saved = self.states.get((number, place), {})
                bucket = Bucket(graph, number, place, self.buckets, spans, saved, self.hot)
                received = {
                    b: Changes.concat(mail.get((b, place), []), b.schema) for b in bucket.boxes
                }
                for level in bucket.steps(received):
                    _send(sender, number, level, mail)
                    for root in graph.roots:
                        if graph.level[root] == number:
                            results[root].append(level.output(root))
                self.states[number, place] = bucket.states
                told.append((number, bucket.counts))
        return results


def _send(sender: Sender, number: int, level: Level, mail: Mailbox) -> None:
    """Put what a level gives into the mail of the levels above."""
    graph = sender.graph
    for exchange in graph.exchanges:
        if graph.level[exchange.input] == number:
            out = level.output(exchange.input)
            for box, bucket, part in sender.parts(exchange, out, level.bucket):
                mail.setdefault((box, bucket), []).append(part)
