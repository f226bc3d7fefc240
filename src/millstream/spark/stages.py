"""What workers do in a batch: read and pack, then run one bucket of one level after the other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.state import Log
from millstream.connect.source import Slab
from millstream.engine.admit import ERRORS
from millstream.engine.clock import Clock, Header
from millstream.engine.errands import Errand, Haul, pack, run_errand
from millstream.engine.admit import Gate
from millstream.engine.level import Level, split
from millstream.engine.store import Shelf, decode, encode
from millstream.algebra.changes import no_rows
from millstream.algebra.time import DAWN
from millstream.spark.parcel import Parcel, load_parcel

WIRE = "level int, bucket int, kind string, name string, number long, blob binary"
WIRE_SCHEMA = pa.schema([
    ("level", pa.int32()), ("bucket", pa.int32()), ("kind", pa.string()), ("name", pa.string()),
    ("number", pa.int64()), ("blob", pa.binary()),
])
DRIVER = 0
"""The level of rows that are for the driver."""

Row = tuple[int, int, str, str, int, bytes]
Batches = Iterator[pa.RecordBatch]


def packer(path: str, clock: dict[str, Any]) -> Callable[[Batches], Batches]:
    """Errands in, packed changes and word of the time out."""

    def stage(batches: Batches) -> Batches:
        parcel, before = load_parcel(path), Clock.from_json(clock)
        foreign: dict[str, list[dict[str, Any]]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                if row["errand"] is None:
                    foreign.setdefault(row["source"], []).append(row)
                    continue
                errand = Errand.from_json(json.loads(row["errand"]))
                if errand.source in parcel.job.streams:
                    haul = run_errand(
                        errand, parcel.job.streams[errand.source],
                        parcel.sources.get(errand.source), parcel.job.graph, before, parcel.buckets,
                    )
                    yield _wire(_haul_rows(errand.source, haul, parcel))
        for name, rows in foreign.items():
            for haul in _pack_foreign(name, rows, parcel, before):
                yield _wire(_haul_rows(name, haul, parcel))

    return stage


def level_runner(
    path: str, clock: dict[str, Any], number: int, batch_number: int
) -> Callable[[Batches], Batches]:
    """The changes of one bucket in, the level's changes and results out; state is kept on a shelf."""

    def stage(batches: Batches) -> Batches:
        parcel, before = load_parcel(path), Clock.from_json(clock)
        mine: list[dict[str, Any]] = []
        for batch in batches:
            here = [i for i, level in enumerate(batch.column("level").to_pylist()) if level == number]
            if len(here) < batch.num_rows:
                others = [i for i in range(batch.num_rows) if i not in set(here)]
                yield batch.take(pa.array(others))
            mine += batch.take(pa.array(here, pa.int64())).to_pylist()
        if mine:
            yield _wire(_run_level(parcel, before, number, batch_number, mine))

    return stage


def _run_level(
    parcel: Parcel, before: Clock, number: int, batch_number: int, rows: list[dict[str, Any]]
) -> list[Row]:
    started = time.perf_counter()
    job, graph, bucket = parcel.job, parcel.job.graph, rows[0]["bucket"]
    headers = [Header(**json.loads(r["blob"])) for r in rows if r["kind"] == "header"]
    spans = job.spans(before, job.advance(before, headers))
    shelf = Shelf.at(parcel.state, number, bucket)
    saved = shelf.read(batch_number - 1)
    level = Level(graph, number, bucket, spans, lambda name: saved.get(name, {}))
    for exchange in graph.exchanges:
        if graph.level[exchange] == number:
            parts = [r for r in rows if r["kind"] == "changes" and r["name"] == exchange.fingerprint]
            parts.sort(key=lambda r: r["number"])
            found = [Changes.from_batch(decode(pa.py_buffer(r["blob"]))) for r in parts]
            level.receive(exchange, Changes.concat(found, exchange.schema))
    loaded = time.perf_counter()
    out: list[Row] = []
    for exchange in graph.exchanges:
        if graph.level[exchange.input] == number and graph.level[exchange] > number:
            sent = split(level.output(exchange.input), exchange, parcel.buckets, bucket)
            for target, part in sent.items():
                out.append(_changes_row(graph.level[exchange], target, exchange.fingerprint, part, bucket))
    told = 0
    for name, root in job.telling.items():
        if graph.level[root] == number:
            result = level.output(root)
            told += len(result)
            if name in parcel.wanted and len(result):
                out.append((DRIVER, 0, "result", name, bucket, encode(result.to_batch())))
    for root in job.keeping.values():
        if graph.level[root] == number:
            level.output(root)
    computed = time.perf_counter()
    written = shelf.write(batch_number, level.states)
    stats = {
        "level": number, "bucket": bucket, "told": told, "written": written,
        "state": _rows_in(level), "load": loaded - started, "run": computed - loaded,
        "write": time.perf_counter() - computed,
    }
    out.append((DRIVER, 0, "stats", "", 0, json.dumps(stats).encode()))
    return out


def _pack_foreign(
    name: str, rows: list[dict[str, Any]], parcel: Parcel, before: Clock
) -> Iterator[Haul]:
    """Rows that another Spark source has brought, as one sequence."""
    stream = parcel.job.streams[name]
    known = before.sources.get(name)
    seq = known.rows if known else 0
    largest = known.largest if known else None
    now = max((c.now for c in before.sources.values()), default=0) + 1
    for row in sorted(rows, key=lambda r: (r["part"], r["chunk"])):
        batch = decode(pa.py_buffer(row["rows"]))
        numbers = pa.array(range(seq + 1, seq + 1 + batch.num_rows), pa.int64()).to_numpy()
        gate = Gate(largest, before.beats.get(name, DAWN), now)
        slab = Slab(batch, numbers, no_rows(ERRORS))
        haul = pack(stream, slab, gate, parcel.job.graph, parcel.buckets, seq, lambda s=slab: s)
        told = haul.headers[0].largest
        if told is not None:
            largest = told if largest is None else max(told, largest)
        seq += batch.num_rows
        yield haul


def _haul_rows(source: str, haul: Haul, parcel: Parcel) -> list[Row]:
    rows: list[Row] = []
    for exchange, bucket, changes in haul.sent:
        first = int(changes.seq[0]) if len(changes) else 0
        rows.append(_changes_row(1, bucket, exchange.fingerprint, changes, first))
    for header in haul.headers:
        blob = json.dumps(asdict(header)).encode()
        rows += [
            (level, bucket, "header", source, 0, blob)
            for level in range(1, parcel.job.graph.depth + 1)
            for bucket in range(parcel.buckets)
        ]
        rows.append((DRIVER, 0, "header", source, 0, blob))
    for kind, batch in (("late", haul.late), ("errors", haul.errors)):
        if batch.num_rows:
            rows.append((DRIVER, 0, kind, source, 0, encode(batch)))
    return rows


def _changes_row(level: int, bucket: int, name: str, changes: Changes, number: int) -> Row:
    return level, bucket, "changes", name, number, encode(changes.to_batch())


def _wire(rows: list[Row]) -> pa.RecordBatch:
    columns = list(zip(*rows)) if rows else [()] * len(WIRE_SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, WIRE_SCHEMA)]
    return pa.RecordBatch.from_arrays(arrays, schema=WIRE_SCHEMA)


def _rows_in(level: Level) -> int:
    return sum(
        part.rows if isinstance(part, Log) else part.num_rows
        for state in level.states.values()
        for part in state.values()
    )
