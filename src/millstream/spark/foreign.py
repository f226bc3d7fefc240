"""Streams that come as Spark DataFrames: packed into blobs on the way, then read as others are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millstream.algebra.changes import no_rows
from millstream.catalog import Stream
from millstream.connect.source import ERRORS, ReadBatch, Slice
from millstream.engine.clock import Clock
from millstream.engine.read_tasks import ReadTask
from millstream.engine.store import decode, encode

COLUMNS = "source string, part long, chunk long, task string, rows binary"
SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("part", pa.int64()),
        ("chunk", pa.int64()),
        ("task", pa.string()),
        ("rows", pa.binary()),
    ]
)


def packed(name: str, frame: DataFrame, schema: pa.Schema) -> DataFrame:
    """The rows of a DataFrame as Arrow blobs in the columns of the declared stream."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        part = context.partitionId() if context else 0
        for chunk, batch in enumerate(batches):
            arrays = [_in_utc(batch.column(f.name)).cast(f.type, safe=False) for f in schema]
            blob = encode(pa.RecordBatch.from_arrays(arrays, schema=schema))
            yield pa.RecordBatch.from_arrays(
                [pa.array([v], t.type) for v, t in zip((name, part, chunk, None, blob), SCHEMA)],
                schema=SCHEMA,
            )

    wanted = frame.select(*[F.col(f"`{name}`") for name in schema.names])
    return wanted.mapInArrow(pack, COLUMNS)


def together(frame: DataFrame, parts: int) -> DataFrame:
    """Bring all blobs of one stream to one task: its rows are one sequence."""
    place = F.when(F.col("source").isNull(), F.monotonically_increasing_id()).otherwise(
        F.hash("source")
    )
    return frame.repartitionById(parts, F.pmod(place, F.lit(parts)).cast("int"))


@dataclass(frozen=True)
class Delivered:
    """The rows of a stream that Spark has brought with one batch, as a source to read them from.

    A slice is a blob; it is of the partition that Spark had it in. Rows are counted over the
    stream, in the order of partitions and blobs. A stream ordered by arrival has one sequence.
    """

    stream: Stream
    batches: Sequence[pa.RecordBatch]
    partitions: Sequence[str]

    @staticmethod
    def of(stream: Stream, rows: Sequence[Mapping[str, Any]]) -> Delivered:
        """From rows in the columns of `packed`."""
        rows = sorted(rows, key=lambda row: (row["part"], row["chunk"]))
        many = stream.order_by is not None
        parts = [str(row["part"]) if many else "" for row in rows]
        return Delivered(stream, [decode(pa.py_buffer(row["rows"])) for row in rows], parts)

    def task(self, clock: Clock) -> ReadTask:
        """The read task of all there is."""
        known = clock.sources.get(self.stream.name)
        now = max((source.now for source in clock.sources.values()), default=0) + 1
        sizes = [batch.num_rows for batch in self.batches]
        seqs = np.cumsum([known.rows + 1 if known else 1, *sizes]).tolist()
        slices = tuple(
            Slice(self.stream.name, {"blob": i}, seqs[i], sizes[i], part)
            for i, part in enumerate(self.partitions)
        )
        return ReadTask(self.stream.name, slices, None, False, now)

    def start(self) -> dict[str, Any]:
        return {}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        raise NotImplementedError("Spark plans what it brings")

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        rows = self.batches[slice.at["blob"]].select(list(columns))
        return ReadBatch(rows, slice.seq + np.arange(slice.length), no_rows(ERRORS))


def _in_utc(column: pa.Array) -> pa.Array:
    """Instants without the zone that Spark shows them in; times without a zone as they are.

    Arrow holds an instant as the microseconds of UTC, whatever zone its type names.
    """
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return column.cast(pa.int64()).cast(pa.timestamp(column.type.unit))
    return column
