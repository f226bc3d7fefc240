"""What workers do in a batch: read and pack, then run one bucket of one level after the other."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node
from millstream.engine.clock import Clock, Header
from millstream.engine.hot_keys import HotKeys
from millstream.engine.level import Bucket, Level
from millstream.engine.measures import Counts
from millstream.engine.read_tasks import ReadResult, ReadTask, run_read_task
from millstream.engine.sending import Sender
from millstream.engine.store import BucketStore, decode, decode_from, encode, encode_to
from millstream.spark.foreign import Delivered
from millstream.spark.job_snapshot import JobSnapshot, load_job_snapshot
from millstream.state.chunks import Log

WIRE = "level int, bucket int, kind string, name string, number long, blob binary"
WIRE_SCHEMA = pa.schema(
    [
        ("level", pa.int32()),
        ("bucket", pa.int32()),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("number", pa.int64()),
        ("blob", pa.binary()),
    ]
)
INLINE = 65_536
"""Rows of fewer bytes travel with the row of the wire itself."""

DRIVER = 0
"""The level of rows that are for the driver."""

Row = tuple[int, int, str, str, int, bytes]
Batches = Iterator[pa.RecordBatch]


def packer(
    path: str,
    clock: dict[str, Any],
    hot: dict[str, Any],
    number: int,
    planned: tuple[tuple[str, ...], ...] = (),
) -> Callable[[Batches], Batches]:
    """Read tasks in, packed changes and word of the time out.

    When the driver knows the read tasks (`planned`), the incoming rows are numbers of its lists.
    """

    def stage(batches: Batches) -> Batches:
        job_snapshot, before = load_job_snapshot(path), Clock.from_json(clock)
        post = Post(job_snapshot, number)
        sender = Sender(job_snapshot.job.graph, job_snapshot.buckets, HotKeys.from_json(hot))
        foreign: dict[str, list[dict[str, Any]]] = {}
        for row in _incoming(batches, planned):
            if row["task"] is None:
                foreign.setdefault(row["source"], []).append(row)
                continue
            task = ReadTask.from_json(json.loads(row["task"]))
            if task.source in job_snapshot.job.streams:
                read = run_read_task(
                    task,
                    job_snapshot.job.streams[task.source],
                    job_snapshot.sources.get(task.source),
                    sender,
                    before,
                )
                yield _wire(_result_rows(task.source, read, post))
        for name, rows in foreign.items():
            read = _pack_foreign(name, rows, job_snapshot, sender, before)
            yield _wire(_result_rows(name, read, post))
        yield _wire(_samples(sender))

    return stage


def _incoming(batches: Batches, planned: tuple[tuple[str, ...], ...]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for row in batch.to_pylist():
            if planned:
                yield from ({"task": task} for task in planned[row["id"]])
            else:
                yield row


def level_runner(
    path: str,
    clock: dict[str, Any],
    hot: dict[str, Any],
    number: int,
    batch_number: int,
    before_number: int,
) -> Callable[[Batches], Batches]:
    """The changes of one bucket in, the level's changes and results out; state is in its store.

    `before_number` is the last batch that left state; batches that bring nothing leave none.
    """

    def stage(batches: Batches) -> Batches:
        job_snapshot, before = load_job_snapshot(path), Clock.from_json(clock)
        mine: list[dict[str, Any]] = []
        for batch in batches:
            here = [
                i for i, level in enumerate(batch.column("level").to_pylist()) if level == number
            ]
            if len(here) < batch.num_rows:
                others = [i for i in range(batch.num_rows) if i not in set(here)]
                yield batch.take(pa.array(others))
            mine += batch.take(pa.array(here, pa.int64())).to_pylist()
        if mine:
            sender = Sender(job_snapshot.job.graph, job_snapshot.buckets, HotKeys.from_json(hot))
            yield _wire(
                _run_level(job_snapshot, before, sender, number, batch_number, before_number, mine)
            )

    return stage


def _run_level(
    job_snapshot: JobSnapshot,
    before: Clock,
    sender: Sender,
    number: int,
    batch_number: int,
    before_number: int,
    rows: list[dict[str, Any]],
) -> list[Row]:
    started = time.perf_counter()
    job, graph, place = job_snapshot.job, job_snapshot.job.graph, rows[0]["bucket"]
    headers = [Header(**json.loads(r["blob"])) for r in rows if r["kind"] == "header"]
    spans = job.spans(before, job.advance(before, headers))
    bucket_store = BucketStore.at(job_snapshot.state, number, place)
    saved = bucket_store.read(before_number)
    bucket = Bucket(graph, number, place, job_snapshot.buckets, spans, saved, sender.hot)
    mail = {box: _mail(box, rows) for box in bucket.boxes}
    loaded = time.perf_counter()
    out: list[Row] = []
    post = Post(job_snapshot, batch_number)
    told = 0
    for level in bucket.steps(mail):
        out += _sent(sender, number, level, post)
        for name, root in job.changelog_roots.items():
            if graph.level[root] == number:
                result = level.output(root)
                told += len(result)
                if name in job_snapshot.wanted and len(result):
                    out.append(post.row(DRIVER, 0, f"result {name}", result.to_batch(), place))
        for root in job.materialized_roots.values():
            if graph.level[root] == number:
                level.output(root)
    computed = time.perf_counter()
    written = bucket_store.write(batch_number, bucket.states, before_number)
    stats = {
        "level": number,
        "bucket": place,
        "told": told,
        "written": written,
        "state": _rows_in(bucket),
        "load": loaded - started,
        "run": computed - loaded,
        "write": time.perf_counter() - computed,
    }
    out.append((DRIVER, 0, "stats", "", 0, json.dumps(stats).encode()))
    out.append(_counts_row(number, bucket.counts))
    return out + _samples(sender)


def _counts_row(level: int, counts: Counts) -> Row:
    return DRIVER, 0, "counts", "", level, json.dumps(counts).encode()


def _mail(box: Node, rows: list[dict[str, Any]]) -> Changes:
    """What was sent to an exchange or skew split in this bucket, in the order of arrival."""
    parts = sorted((r for r in rows if r["name"] == box.fingerprint), key=lambda r: r["number"])
    return Changes.concat([Changes.from_batch(opened(r)) for r in parts], box.schema)


def _sent(sender: Sender, number: int, level: Level, post: Post) -> list[Row]:
    """What a level sends to the levels above."""
    graph = sender.graph
    return [
        post.row(landing, target, box.fingerprint, part.to_batch(), level.bucket)
        for exchange in graph.exchanges
        if graph.level[exchange.input] == number
        for box, target, part in sender.parts(exchange, level.output(exchange.input), level.bucket)
        for landing in graph.landings[box]
    ]


def _samples(sender: Sender) -> list[Row]:
    blobs = [json.dumps(samples.to_json()).encode() for samples in sender.samples]
    return [(DRIVER, 0, "sample", "", 0, blob) for blob in blobs]


def _pack_foreign(
    name: str, rows: list[dict[str, Any]], job_snapshot: JobSnapshot, sender: Sender, before: Clock
) -> ReadResult:
    """Rows that another Spark source has brought: read like any others, partition by partition."""
    delivered = Delivered.of(job_snapshot.job.streams[name], rows)
    return run_read_task(delivered.task(before), delivered.stream, delivered, sender, before)


def _result_rows(source: str, read: ReadResult, post: Post) -> list[Row]:
    rows: list[Row] = []
    for box, bucket, changes, turn in read.sent:
        for landing in post.job_snapshot.job.graph.landings[box]:
            packed = changes.to_batch()
            rows.append(post.row(landing, bucket, box.fingerprint, packed, turn))
    for header in read.headers:
        blob = json.dumps(asdict(header)).encode()
        rows += [
            (level, bucket, "header", source, 0, blob)
            for level in range(1, post.job_snapshot.job.graph.depth + 1)
            for bucket in range(post.job_snapshot.buckets)
        ]
        rows.append((DRIVER, 0, "header", source, 0, blob))
    for kind, batch in (("late", read.late), ("errors", read.errors)):
        if batch.num_rows:
            rows.append(post.row(DRIVER, 0, f"{kind} {source}", batch, 0))
    return [*rows, _counts_row(0, read.counts)] if read.counts else rows


@dataclass(frozen=True)
class Post:
    """Sends rows to a bucket or the driver: large ones as a file in the shared scratch folder."""

    job_snapshot: JobSnapshot
    batch: int

    def row(self, level: int, bucket: int, name: str, rows: pa.RecordBatch, number: int) -> Row:
        if self.job_snapshot.scratch is None or rows.nbytes < INLINE:
            return level, bucket, "inline", name, number, encode(rows)
        folder = Path(self.job_snapshot.scratch) / str(self.batch)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / uuid.uuid4().hex
        encode_to(path, rows)
        return level, bucket, "file", name, number, str(path).encode()


def opened(row: dict[str, Any]) -> pa.RecordBatch:
    """The rows that a row of the wire stands for."""
    if row["kind"] == "file":
        return decode_from(Path(row["blob"].decode()))
    return decode(pa.py_buffer(row["blob"]))


def _wire(rows: list[Row]) -> pa.RecordBatch:
    columns = list(zip(*rows)) if rows else [()] * len(WIRE_SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, WIRE_SCHEMA)]
    return pa.RecordBatch.from_arrays(arrays, schema=WIRE_SCHEMA)


def _rows_in(bucket: Bucket) -> int:
    return sum(
        part.rows if isinstance(part, Log) else part.num_rows
        for state in bucket.states.values()
        for part in state.values()
    )
