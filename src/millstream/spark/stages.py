"""What workers do in a batch: read and pack, then run one bucket of one level after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from millstream.engine.clock import Clock
from millstream.engine.messages import Message, Sent, TimeTold
from millstream.engine.read_tasks import ReadResult, ReadTask, run_read_task
from millstream.engine.rereading import Rereading
from millstream.engine.sending import Sender
from millstream.engine.states import FileStates
from millstream.engine.work import Batch, Work
from millstream.files import open_folder
from millstream.spark.foreign import Delivered
from millstream.spark.job_snapshot import JobSnapshot, load_job_snapshot
from millstream.spark.wire import Wire, messages_in

Batches = Iterator[pa.RecordBatch]


def packer(path: str, batch: Batch, parts: int) -> Callable[[Batches], Batches]:
    """Read tasks in, packed changes and headers with the time out.

    When the driver knows the read tasks, those of the batch are dealt out in so many `parts`, and
    the incoming rows are numbers of these; with no parts, read tasks and blobs come in as rows.
    """

    def stage(batches: Batches) -> Batches:
        job_snapshot = load_job_snapshot(path)
        work, wire = _work(job_snapshot, batch), _wire(job_snapshot, batch)
        foreign: dict[str, list[dict[str, Any]]] = {}
        for row in (row for incoming in batches for row in incoming.to_pylist()):
            if parts:
                tasks = batch.tasks[row["id"] :: parts]
            elif row["task"] is None:
                tasks = ()
                foreign.setdefault(row["source"], []).append(row)
            else:
                tasks = (ReadTask.from_json(json.loads(row["task"])),)
            for task in tasks:
                yield wire.batch(work.read(task))
        for name, rows in foreign.items():
            read = _pack_foreign(name, rows, job_snapshot, work.sender, batch.clock)
            yield wire.batch(work.messages_of(name, read))
        yield wire.batch(work.samples())

    return stage


def rereader(path: str, batch: Batch, parts: int) -> Callable[[Batches], Batches]:
    """Numbers of parts in; out come the packed changes of what is read again for queries that
    join."""

    def stage(batches: Batches) -> Batches:
        job_snapshot = load_job_snapshot(path)
        work, wire = _work(job_snapshot, batch), _wire(job_snapshot, batch)
        for row in (row for incoming in batches for row in incoming.to_pylist()):
            for task, mark in batch.again.tasks[row["id"] :: parts]:
                yield wire.batch(work.read_again(task, mark))

    return stage


def level_runner(path: str, batch: Batch, number: int) -> Callable[[Batches], Batches]:
    """The changes of one bucket in, the level's changes and answers out; state is in its store."""
    bare = replace(batch, tasks=(), again=Rereading())

    def stage(batches: Batches) -> Batches:
        job_snapshot = load_job_snapshot(path)
        mine: list[dict[str, Any]] = []
        for incoming in batches:
            here = [
                i for i, level in enumerate(incoming.column("level").to_pylist()) if level == number
            ]
            if len(here) < incoming.num_rows:
                others = [i for i in range(incoming.num_rows) if i not in set(here)]
                yield incoming.take(pa.array(others))
            mine += incoming.take(pa.array(here, pa.int64())).to_pylist()
        if mine:
            messages = list(messages_in(mine))
            headers = [m.header for m in messages if isinstance(m, TimeTold)]
            sent = [m for m in messages if isinstance(m, Sent)]
            work, wire = _work(job_snapshot, bare), _wire(job_snapshot, bare)
            run = work.run(number, mine[0]["bucket"], headers, sent)
            yield wire.batch(_with_samples(run, work))

    return stage


def _with_samples(messages: Iterator[Message], work: Work) -> Iterator[Message]:
    """The messages of a piece of work, then the samples it took: together they are one batch."""
    yield from messages
    yield from work.samples()


def _work(job_snapshot: JobSnapshot, batch: Batch) -> Work:
    """The work of a batch as a worker does it."""
    return Work(
        job_snapshot.job,
        batch,
        job_snapshot.buckets,
        job_snapshot.wanted,
        lambda: job_snapshot.sources,
        FileStates(job_snapshot.state),
    )


def _wire(job_snapshot: JobSnapshot, batch: Batch) -> Wire:
    url, depth = job_snapshot.scratch, job_snapshot.job.graph.depth
    scratch = None if url is None else open_folder(url).folder(str(batch.number))
    return Wire(depth, job_snapshot.buckets, scratch)


def _pack_foreign(
    name: str, rows: list[dict[str, Any]], job_snapshot: JobSnapshot, sender: Sender, before: Clock
) -> ReadResult:
    """Rows that another Spark source has brought: read like any others, partition by partition."""
    delivered = Delivered.of(job_snapshot.job.streams[name], rows)
    return run_read_task(delivered.task(before), delivered.stream, delivered, sender, before)
