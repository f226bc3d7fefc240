"""The driver of a job: begins, finishes, delivers and commits batches, whoever carries them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, no_rows
from millstream.connect.source import ERRORS as ERROR_COLUMNS
from millstream.connect.source import Source
from millstream.engine.beginning import Beginning, Past
from millstream.engine.carrier import Carrier
from millstream.engine.checkpoint import Checkpoint, Commit, fingerprints
from millstream.engine.clock import Header
from millstream.engine.effort import waited_here
from millstream.engine.finished import Finished
from millstream.engine.holdings import Held
from millstream.engine.job import Job
from millstream.engine.live_change import Joined, changed, opened
from millstream.engine.messages import (
    ERRORS,
    LATE,
    Answer,
    Counted,
    Message,
    Refused,
    Sampled,
    TimeTold,
)
from millstream.engine.opening import Opening
from millstream.engine.outputs import COMPLETE, Query, late_schema, present
from millstream.engine.placement import Placement, most_rows
from millstream.engine.read_tasks import ReadTask
from millstream.engine.receivers import Following, Forgetting, Receiver
from millstream.engine.report import BatchReport, report_of
from millstream.engine.rereading import NotThere, Rereading, reread
from millstream.engine.snapshot import Snapshot
from millstream.engine.states import States, StateStore
from millstream.engine.stored_results import StoredResults
from millstream.engine.summary import Summary
from millstream.engine.trail import Planned, followed, trail_to_json
from millstream.engine.work import Batch, Work
from millstream.errors import Notice

Sources = Callable[[Job], Mapping[str, Source]]
"""Opens the sources of a job, for a carrier that reads them in this process."""


@dataclass
class Driver:
    """One job, batch after batch. A host decides when a batch begins, what it reads, who carries
    it.

    Law: a batch is delivered, then committed; what was delivered without being committed is
    delivered again, under the same number. Without a `checkpoint` nothing outlives the process.
    """

    job: Job
    receivers: list[Receiver]
    states: StateStore
    buckets: int
    wanted: frozenset[str]
    checkpoint: Checkpoint | None = None
    commit: Commit | None = None
    last: Finished = field(default_factory=Finished)
    begun: int | None = None
    """The number of the batch that was begun last, in this run or before it."""
    ran: Job | None = None
    """The job of that batch."""
    gone: frozenset[str] = frozenset()
    """The queries that were dropped or replaced since that batch was begun."""
    opening: Opening = field(default_factory=Opening)
    placement: Placement = field(default_factory=Placement)
    """What batches have cost in this run, wherever they were carried."""
    summary: Summary = field(default_factory=Summary)
    """What this run has read and emitted."""
    host: str = "local"
    """Who carries the job, as its commits say."""
    beginnings: Mapping[str, Beginning] = field(default_factory=dict)
    unsaid: frozenset[str] = frozenset()
    """Queries that came while a batch ran: what to say of them is known when it has ended."""
    sources: Sources = lambda job: {}
    """Opens the sources of a job in this process: to plan what is read again, and to read."""
    tell: Callable[[Notice], None] = lambda notice: None
    """Told what is found out about a query when it begins."""
    _before: tuple[int | None, Job | None] = (None, None)
    _snapshot: Snapshot | None = None
    lock: RLock = field(default_factory=RLock)
    """Held while a batch begins, while one is delivered and committed, and while queries change;
    not while it is carried out."""

    def run(
        self,
        number: int,
        tasks: Iterable[ReadTask],
        carrier: Carrier,
        sources: Sources,
        positions: Mapping[str, Any] | None = None,
        known: Iterable[ReadTask] | None = None,
    ) -> BatchReport | None:
        """Carry out one batch; None when nothing was read, and then nothing is committed.

        `known` are its read tasks where others than the carrier hand them out.
        """
        started, worked = time.perf_counter(), time.process_time() + waited_here()
        self.sources = sources
        work = self.begin(number, tasks)
        read = [s for task in (work.batch.tasks if known is None else known) for s in task.slices]
        planned = Planned(tuple(read), positions or {})
        messages = list(carrier.carry(work))
        carried = time.perf_counter()
        report = self.finish(work, messages, planned, started, carried)
        if report is None:
            return None
        worked = time.process_time() + waited_here() + carrier.waited - worked
        busy = worked / max(report.seconds, 1e-3)
        self.placement = self.placement.after(carrier.place, report.rows, report.seconds, busy)
        return replace(report, place=carrier.place)

    def batch_rows(self, placement: str) -> int:
        """How many rows of a source the next batch may read."""
        job = self.job
        most = most_rows(job.streams.values())
        return job.settings.batch_rows or self.placement.limit(placement, most)

    def begin(self, number: int, tasks: Iterable[ReadTask]) -> Work:
        """The work of the next batch: its queries are settled from here on."""
        with self.lock:
            again = self._read_again()
            job, wanted, opening = self.job, self.wanted, self.opening
            self._before, self.opening = (self.begun, self.ran), Opening()
            self.begun, self.ran, self.beginnings = number, job, {}
            self.gone = self.unsaid = frozenset()
            left = self.last.left(job.graph.depth)
            read, clock, hot = tuple(tasks), self.last.clock, self.last.hot
            batch = Batch(number, read, clock, hot, left, opening, again)
        return Work(job, batch, self.buckets, wanted, lambda: self.sources(job), self.states)

    def _read_again(self) -> Rereading:
        """What is read again for the queries that open: what has been read by now, though a batch
        may have ended since they were added."""
        if self.ran is None or not (self.beginnings or self.unsaid):
            return Rereading()
        joined = self.join(self.job)
        for name in sorted(joined.said.keys() & self.unsaid):
            self.tell(joined.notice(name))
        return self._planned_again(self.job, self.beginnings)

    def _planned_again(self, job: Job, beginnings: Mapping[str, Beginning]) -> Rereading:
        if not any(beginning.since for beginning in beginnings.values()):
            return Rereading(floors={name: one.floors for name, one in beginnings.items()})
        return reread(beginnings, job.streams, self.sources(job), self.last.trail)

    def _with_what_is_there(self, make: Callable[[Past], Joined]) -> Joined:
        """The queries that join, with beginnings for which the sources still have the rows."""
        past = replace(self.last.past, gone=self.gone)
        while True:
            joined = make(past)
            try:
                self._planned_again(joined.job, joined.beginnings)
                return joined
            except NotThere as gone:
                past = past.without(gone.stream)

    def join(self, job: Job) -> Joined:
        """Let the queries of a job that have not run yet begin in the next batch."""
        ran, begun = self.ran, self.begun
        assert ran is not None and begun is not None
        joined = self._with_what_is_there(lambda past: opened(job, ran, begun, past))
        self._take(joined)
        return joined

    def _take(self, joined: Joined) -> None:
        self.job, self.opening, self.beginnings = joined.job, joined.opening, joined.beginnings

    def finish(
        self,
        work: Work,
        messages: list[Message],
        planned: Planned,
        started: float,
        carried: float,
    ) -> BatchReport | None:
        """Deliver the answers of a batch, and commit it."""
        headers = [m.header for m in messages if isinstance(m, TimeTold)]
        if not headers:
            self._undo(work)
            return None
        after = self._after(work, headers, messages, planned)
        with self.lock:
            summary = self._deliver(work.job, messages, work.batch.number)
            sizes = {k: v for receiver in self.receivers for k, v in receiver.sizes().items()}
            if self.checkpoint is not None:
                self.commit = self._commit(work.job, after, sizes, planned.positions)
                self.checkpoint.write(self.commit)
            self._snapshot = self.snapshot.after(work.job, after)
            self.last, self.summary = after, summary.with_messages(work.job.declared, messages)
        return report_of(work.job, after, headers, messages, started, carried)

    def _undo(self, work: Work) -> None:
        """Undo the beginning of a batch that read nothing: its openings go to the next batch."""
        with self.lock:
            self.begun, self.ran = self._before
            self.gone = frozenset()
            self.opening = work.batch.opening
            if self.ran is not None and self.begun is not None:
                self.join(self.job)

    def _after(
        self, work: Work, headers: list[Header], messages: list[Message], planned: Planned
    ) -> Finished:
        """Where a batch leaves the job."""
        job, batch, graph = work.job, work.batch, work.job.graph
        clock = job.advance(batch.clock, headers)
        counted = [(m.level, m.counts) for m in messages if isinstance(m, Counted)]
        samples = [m.sample for m in messages if isinstance(m, Sampled)]
        measures = self.last.measures.after(counted, graph, job.spans(batch.clock, clock))
        hot = batch.hot.after(samples, graph.meetings, work.buckets)
        trail = followed(self.last.trail, job.streams, planned, headers, batch.clock, clock)
        return Finished(batch.number, graph.depth, clock, hot, measures, trail)

    def _commit(
        self, job: Job, after: Finished, sizes: dict[str, int], positions: Mapping[str, Any]
    ) -> Commit:
        return Commit(
            after.number,
            after.clock,
            self.buckets,
            sizes,
            {n: s.declared for n, s in job.streams.items()},
            {n: mark for n, mark in fingerprints(job).items() if n not in self.gone},
            dict(positions),
            levels=after.levels,
            joined={q.name: q.joined for q in job.queries if q.joined},
            ending=job.settings.ending,
            drains=job.drains,
            measures=after.measures.to_json(),
            plans=job.plan_texts,
            hot=after.hot.to_json(),
            rules=job.settings.rules,
            changes=sorted(job.changes),
            bare=[q.name for q in job.queries if q.bare],
            gone=self._gone(job),
            host=self.host,
            inferred={n.lower(): s.inferred for n, s in job.streams.items() if s.inferred},
            trail=trail_to_json(after.trail),
        )

    def _gone(self, job: Job) -> dict[str, dict[str, int]]:
        """The queries that left results on the checkpoint, and that nobody has written again."""
        left = {} if self.commit is None else self.commit.gone
        return {name: sizes for name, sizes in left.items() if name not in fingerprints(job)}

    def _deliver(self, job: Job, messages: list[Message], number: int) -> Summary:
        """Deliver late and bad rows, then the answers of all queries, in the order of time; answers
        of a query that was dropped or replaced meanwhile are not delivered. Gives the summary with
        the rows that were emitted."""
        summary = self.summary
        refused: dict[tuple[str, str], list[pa.RecordBatch]] = {}
        answers: dict[str, list[Changes]] = {}
        for message in messages:
            match message:
                case Refused(stream=name, kind=kind, rows=rows):
                    refused.setdefault((name, kind), []).append(rows)
                case Answer(query=name, changes=changes):
                    answers.setdefault(name, []).append(changes)
        for stream in job.streams.values():
            if stream.of is None:
                late = late_schema(stream.schema, stream.domain)
                for kind, schema in ((LATE, late), (ERRORS, ERROR_COLUMNS)):
                    parts = refused.get((stream.name, kind), [no_rows(schema)])
                    self._give(f"{stream.name}.{kind}", concat_rows(parts, schema), number)
        for name, root in job.changelog_roots.items():
            query = job.query(name)
            if name in self.wanted and self._has(query):
                result = f"{name}.changes" if query.form == COMPLETE else name
                changes = Changes.concat(answers.get(name, []), root.schema)
                self._give(result, present(query, changes), number)
                summary = summary.emitted(name, len(changes))
        return summary

    def _has(self, query: Query) -> bool:
        """Whether a query is still there, and still the same."""
        if query.name in self.gone:
            return False
        now = self.job.by_name.get(query.name)
        return now is not None and (now.plan, now.form) == (query.plan, query.form)

    def _give(self, name: str, rows: pa.RecordBatch, number: int) -> None:
        for receiver in self.receivers:
            receiver.rows(name, rows, number)

    def close(self) -> None:
        """Deliver the contents of stored results, and close the receivers."""
        self.summary = self.summary.beginning(self.job.declared, self.job.changelog_roots)
        results = self.results
        for name in self.job.materialized_roots:
            content = results.content(name)
            self.summary = self.summary.holding(name, content.num_rows)
            for receiver in self.receivers:
                receiver.whole(name, content)
        for receiver in self.receivers:
            receiver.close()

    def change(self, job: Job, wanted: frozenset[str] | None = None) -> tuple[Notice, ...]:
        """Go on with other queries from the next batch on; operators that stay keep their state.

        It does not wait for a batch that runs. Queries that join begin with their content where
        that is known; the notices name the others.
        """
        with self.lock:
            self._forget(job)
            statistics = self.last.measures.statistics(self.job.graph)
            if self.ran is None or self.begun is None:
                job = replace(job, plans=self.job.plans)
                joined = Joined(job.decided({}, statistics))
            else:
                counted = self._counted() if job.settings != self.job.settings else frozenset()
                now, ran, begun = self.job, self.ran, self.begun
                joined = self._with_what_is_there(
                    lambda past: changed(job, now, ran, begun, statistics, counted, past)
                )
            self._take(joined)
            every = frozenset(joined.job.changelog_roots)
            self.wanted = every if wanted is None else wanted
            if self.begun == self.last.number:
                return joined.notices
            self.unsaid |= joined.said.keys() | joined.beginnings.keys()
        return ()

    def _forget(self, job: Job) -> None:
        """Let receivers drop the results of queries that the next job does not have: before a batch
        can bring rows of others that have their names."""
        marks = fingerprints(job)
        gone = [n for n, mark in fingerprints(self.job).items() if marks.get(n) != mark]
        self._withdraw(n for n in gone if n in marks and n not in self.gone)
        self.gone |= set(gone)
        for receiver in self.receivers:
            if isinstance(receiver, Forgetting):
                for name in gone:
                    receiver.forget(name)
                    receiver.forget(f"{name}.changes")

    def _withdraw(self, replaced: Iterable[str]) -> None:
        """Let those who follow stored results know that the rows of replaced queries leave: what
        is delivered next are rows of others."""
        followers = [r for r in self.receivers if isinstance(r, Following)]
        results = self.results
        for name in replaced:
            if name in self.wanted and name in results:
                rows = results.withdrawal(name)
                for receiver in followers:
                    receiver.withdrawn(name, rows)

    def go_on(self, before: Driver) -> None:
        """Take up where another driver of these queries has come to, under settings of its own."""
        self.begun = before.begun
        if before.ran is not None and self.begun is not None:
            self.ran = replace(self.job, queries=before.ran.queries)
            self.join(self.job)

    def _counted(self) -> frozenset[str]:
        """The names of states in which duplicates are counted."""
        every = (entry for states in self._every_state(self.last) for entry in states.items())
        return frozenset(name for name, state in every if "counts 0" in state)

    @property
    def results(self) -> StoredResults:
        """The stored results, as the last finished batch has left them."""
        with self.lock:
            return StoredResults(self.job, self.last, self.states, self.buckets)

    @property
    def snapshot(self) -> Snapshot:
        """What stored results hold, as the last finished batch has left them, for who reads while
        batches run."""
        job = self.job if self.ran is None else self.ran
        return self._snapshot or Snapshot(job, self.last, self.states, self.buckets)

    def held(self) -> Held:
        """What operators hold after the last finished batch."""
        with self.lock:
            job, last = self.job, self.last
        return Held(job, last.number, tuple(self._every_state(last)), last.measures)

    def _every_state(self, last: Finished) -> Iterable[States]:
        for level in range(1, last.levels + 1):
            for bucket in range(self.buckets):
                yield self.states.read(level, bucket, last.number)
