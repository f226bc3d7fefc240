"""Read tasks: which slices of the sources a batch reads, and the reading itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import Changes, concat_rows, no_rows, take_rows
from millstream.algebra.evaluate import computed_once
from millstream.algebra.expressions import Call, Column, Literal
from millstream.algebra.node import Node
from millstream.algebra.time import DAWN, Domain, Span
from millstream.catalog import SIDES, Stream
from millstream.connect.partitioned import PartitionedSource, arrivals
from millstream.connect.source import (
    Comparison,
    Foreseeing,
    ReadBatch,
    Slice,
    Source,
    read_wanted,
)
from millstream.engine.admit import ERRORS, FARTHEST, Gate, admit, largest_instant
from millstream.engine.clock import Clock, Header
from millstream.engine.evaluation import Reading
from millstream.engine.measures import Counts, add_all
from millstream.engine.outputs import late_rows, late_schema
from millstream.engine.sending import Sender
from millstream.plan.graph import Graph

NO_SPAN = Span(DAWN, DAWN, None)
TICK = 200_000
"""Microseconds between two batches that bring nothing but the time."""


@dataclass(frozen=True)
class ReadTask:
    """Slices of one source to read one after the other.

    `prior` is the largest timestamp in slices of the same batch and partition that come before;
    `now` the clock. `partitions` are those of the source that are new or have ended with this
    batch, each with whether it has ended. `promise` is how far time goes on after the end.
    """

    source: str
    slices: tuple[Slice, ...]
    prior: int | None
    ended: bool
    now: int
    partitions: tuple[tuple[str, bool], ...] = ()
    promise: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "slices": [s.to_json() for s in self.slices],
            "prior": self.prior,
            "ended": self.ended,
            "now": self.now,
            "partitions": [list(part) for part in self.partitions],
            "promise": self.promise,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> ReadTask:
        slices = tuple(Slice.from_json(s) for s in data["slices"])
        parts = tuple((name, ended) for name, ended in data["partitions"])
        known = data["source"], slices, data["prior"], data["ended"], data["now"], parts
        return ReadTask(*known, data.get("promise"))


def plan_read_tasks(
    streams: Mapping[str, Stream],
    sources: Mapping[str, Source],
    positions: Mapping[str, dict[str, Any]],
    rows: int,
    now: int,
) -> tuple[list[ReadTask], dict[str, dict[str, Any]]]:
    """The read tasks of the next batch and the positions after it; none when nothing is there.

    A position is {"at": the source's own, "ended": whether it has come to its end, "start": the one
    before the first row}.
    """
    tasks: list[ReadTask] = []
    after: dict[str, dict[str, Any]] = {}
    for name, source in sources.items():
        here = positions.get(name) or first_position(source)
        after[name] = here
        if here["ended"]:
            continue
        slices, at, ended = source.plan(here["at"], rows)
        after[name] = {**here, "at": at, "ended": ended}
        parts = _changed_partitions(here["at"], at) if isinstance(source, PartitionedSource) else ()
        tasks += tasks_of(streams[name], source, slices, ended, now)
        if parts:
            tasks.append(ReadTask(name, (), None, ended, now, parts))
    return tasks, after


def first_position(source: Source) -> dict[str, Any]:
    """Where a source begins."""
    start = source.start()
    return {"at": start, "ended": False, "start": start}


def reopened(
    sources: Mapping[str, Source], positions: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The positions for another run: it looks again at what had ended, which may have grown."""
    after = {name: {**here, "ended": False} for name, here in positions.items()}
    for name, source in sources.items():
        if isinstance(source, PartitionedSource) and name in after:
            after[name]["at"] = source.reopened(after[name]["at"])
    return after


def _changed_partitions(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[tuple[str, bool], ...]:
    """The partitions that are new at a position, or have ended there."""
    known = before["partitions"]
    return tuple(
        (name, part["ended"])
        for name, part in after["partitions"].items()
        if name not in known or part["ended"] != known[name]["ended"]
    )


def ticks(streams: Mapping[str, Stream], positions: Mapping[str, Any], now: int) -> list[ReadTask]:
    """Read tasks that bring nothing but the time, for streams whose heartbeat follows the clock."""
    return [
        ReadTask(name, (), None, False, now)
        for name, stream in streams.items()
        if (stream.is_internal or stream.idle is not None)
        and not positions.get(name, {}).get("ended")
    ]


def with_ticks(
    tasks: list[ReadTask],
    streams: Mapping[str, Stream],
    positions: Mapping[str, Any],
    now: int,
    last: int,
) -> list[ReadTask]:
    """The read tasks with the time beside them; without any, only once in a TICK since the last.

    A stream that is silent while others are busy becomes idle all the same.
    """
    if tasks or now - last >= TICK:
        return [*tasks, *ticks(streams, positions, now)]
    return []


def tasks_of(
    stream: Stream, source: Source, slices: list[Slice], ended: bool, now: int
) -> list[ReadTask]:
    """Read tasks that can be done side by side: for each partition one, or one for each slice."""
    if not slices:
        return [ReadTask(stream.name, (), None, ended, now)] if ended else []
    by_partition: dict[str, list[Slice]] = {}
    for slice_ in slices:
        by_partition.setdefault(slice_.partition, []).append(slice_)
    return [
        task
        for name, mine in by_partition.items()
        for task in _tasks_in(stream, _source_in(source, name), mine, ended, now)
    ]


def _tasks_in(
    stream: Stream, source: Source, slices: list[Slice], ended: bool, now: int
) -> list[ReadTask]:
    in_turn = stream.ahead is not None or stream.says is not None
    if len(slices) == 1 or in_turn or not isinstance(source, Foreseeing):
        return [ReadTask(stream.name, tuple(slices), None, ended, now)]
    tasks: list[ReadTask] = []
    prior: int | None = None
    for slice_ in slices:
        tasks.append(ReadTask(stream.name, (slice_,), prior, ended, now))
        if stream.order_by is not None and not stream.is_internal:
            largest = _largest(stream, source, slice_)
            if largest is not None and (prior is None or largest > prior):
                prior = largest
    return tasks


def _largest(stream: Stream, source: Source, slice_: Slice) -> int | None:
    """The largest instant of a slice; what is too far to be counted with is a bad row, not it."""
    assert stream.order_by is not None and isinstance(source, Foreseeing)
    largest = source.largest(slice_, stream.order_by)
    if largest is None or abs(largest * stream.scale) <= FARTHEST:
        return None if largest is None else largest * stream.scale
    read_batch = source.read(slice_, [stream.order_by])
    return largest_instant(stream, read_batch.rows.column(0))


def _source_in(source: Source, partition: str) -> Source:
    """The source itself, or that of one of its partitions."""
    return source.source(partition) if isinstance(source, PartitionedSource) else source


@dataclass(frozen=True, eq=False)
class ReadResult:
    """What a read task brings: changes for buckets, late rows, bad rows, and headers.

    Changes carry the number by which they are put in the order of arrival; `counts` are those of
    the operators that come before an exchange.
    """

    sent: list[tuple[Node, int, Changes, int]]
    late: pa.RecordBatch
    errors: pa.RecordBatch
    headers: list[Header]
    counts: Counts = field(default_factory=dict)


def run_read_task(
    task: ReadTask, stream: Stream, source: Source | None, sender: Sender, clock: Clock
) -> ReadResult:
    """Read the slices of a read task and pack their rows for the buckets of the first level."""
    graph = sender.graph
    gates: dict[str, Gate] = {}
    reads = []
    for slice_ in task.slices:
        assert source is not None
        reader = _source_in(source, slice_.partition)
        gate = gates.get(slice_.partition)
        if gate is None:
            gate = Gate.of(clock, stream, slice_, task.now).after(task.prior)
        read_batch = read_wanted(
            reader, slice_, _columns(stream, graph), _judged(stream), _wanted(stream, graph)
        )
        read = pack(
            stream,
            read_batch,
            gate,
            sender,
            int(arrivals(np.array([slice_.seq]), slice_.number)[0]),
            lambda s=slice_, r=reader: r.read(s, stream.schema.names),
        )
        gates[slice_.partition] = gate.after(read.headers[0].largest, read.headers[0].promise)
        reads.append(read)
    endings = [
        Header(name, ended=task.ended, now=task.now)
        for name in (stream.name, *_sides(stream, graph))
    ]
    endings[0] = replace(endings[0], promise=task.promise)
    if stream.op is not None and stream.is_internal:  # a table that has rows begins with the clock
        endings[0] = replace(endings[0], first=task.now)
    parts = [
        Header(name, ended=over, now=task.now, partition=partition)
        for partition, over in task.partitions
        for name in (stream.name, *_sides(stream, graph))
    ]
    return _together(reads, stream, [*parts, *endings])


def pack(
    stream: Stream, read_batch: ReadBatch, gate: Gate, sender: Sender, turn: int, reread: Any
) -> ReadResult:
    """Admit the rows of a read batch and run the stateless operators below the first exchange."""
    admitted = admit(
        stream,
        read_batch.rows,
        read_batch.seq,
        read_batch.errors,
        gate,
        lambda: reread().rows,
        read_batch.beats,
    )
    late = no_rows(late_schema(stream.schema, stream.domain))
    if len(admitted.late):
        whole = take_rows(reread().rows, admitted.late)
        late = late_rows(whole, admitted.late_ts, stream.domain)
    errors = _in_partition(admitted.errors, gate)
    elements = {stream.name: admitted.elements}
    headers = [admitted.header]
    last = int(read_batch.seq[-1]) if len(read_batch.seq) else 0
    last = max(last, *errors.column("seq").to_pylist(), 0)
    for name, rows, numbers in (
        (
            f"{stream.name}.late",
            late.select(range(1, late.num_columns)),
            read_batch.seq[admitted.late],
        ),
        (f"{stream.name}.errors", errors, errors.column("seq").to_numpy()),
    ):
        if name in sender.graph.scans:
            elements[name] = Changes.elements(rows, numbers, arrivals(numbers, gate.number))
            first = int(numbers[0]) if len(numbers) else None
            header = Header(name, first, last or None, rows=len(numbers), now=gate.now)
            headers.append(replace(header, partition="" if gate.number is None else gate.partition))
    reading = Reading(elements, NO_SPAN)
    sent = _send(sender, reading, turn, _final_by(stream, gate, admitted.header, sender))
    failed = [rows for _, rows in reading.failed]
    errors = concat_rows([errors, *failed], errors.schema) if failed else errors
    return ReadResult(sent, late, errors, headers, reading.counts)


def _final_by(stream: Stream, gate: Gate, header: Header, sender: Sender) -> int:
    """An instant up to which no more elements will come for queries of this stream alone: the
    heartbeat at the end of the batch is this one or a later one."""
    known = gate.after(header.largest).largest
    is_one = gate.number is None and not gate.partition and not stream.foreign
    if stream.name not in sender.alone or not is_one or stream.is_internal or known is None:
        return DAWN
    return known if stream.domain is Domain.ARRIVAL else known - stream.slack - 1


def _in_partition(errors: pa.RecordBatch, gate: Gate) -> pa.RecordBatch:
    """Bad rows of a partition: positions count in it, so the reason names it."""
    if gate.number is None or not errors.num_rows:
        return errors
    reasons = pc.binary_join_element_wise(f"{gate.partition}: ", errors.column("reason"), "")
    return errors.set_column(1, "reason", reasons)


def _send(
    sender: Sender, reading: Reading, turn: int, final: int
) -> list[tuple[Node, int, Changes, int]]:
    sent = []
    graph = sender.graph
    with computed_once():
        for exchange in graph.exchanges:
            if graph.level[exchange] == 1 and graph.sources[exchange] & reading.elements.keys():
                changes = reading.output(exchange.input)
                if (fewer := exchange.state_layout.subtotals) is not None and final > DAWN:
                    changes = fewer.of(changes, final)
                if not graph.needs_arrival[exchange]:
                    changes = replace(changes, seq=np.zeros(len(changes), np.int64))
                for part in sender.parts(exchange, changes, turn):
                    sent.append((*part, turn))
    return sent


def _sides(stream: Stream, graph: Graph) -> list[str]:
    """The streams of late and bad rows of this one that somebody reads."""
    return [side for kind in SIDES if (side := f"{stream.name}.{kind}") in graph.scans]


def _columns(stream: Stream, graph: Graph) -> list[str]:
    """The columns somebody reads, and those that every element is judged by."""
    used = {name for scan in graph.scans.get(stream.name, ()) for name, _ in scan.columns}
    judged = _judged(stream)
    return [n for n in stream.schema.names if n in used or n in judged]


def _judged(stream: Stream) -> list[str]:
    return [n for n in stream.schema.names if n in (stream.order_by, stream.says)]


def _wanted(stream: Stream, graph: Graph) -> list[list[Comparison]]:
    """What every reader of the stream tests."""
    found = []
    for scan in graph.scans.get(stream.name, ()):
        tests = []
        for condition in scan.tests:
            match condition:
                case Call(function=name, arguments=(Column() as column, Literal() as value)):
                    tests.append(Comparison(column.name, name, value.value))
        found.append(tests)
    return found


def _together(reads: list[ReadResult], stream: Stream, endings: list[Header]) -> ReadResult:
    late = [h.late for h in reads]
    errors = [h.errors for h in reads]
    layout = late_schema(stream.schema, stream.domain)
    headers = [h for read in reads for h in read.headers]
    return ReadResult(
        [item for read in reads for item in read.sent],
        concat_rows(late, layout) if late else no_rows(layout),
        concat_rows(errors, ERRORS) if errors else no_rows(ERRORS),
        [*headers, *endings],
        add_all({}, (read.counts for read in reads)),
    )
