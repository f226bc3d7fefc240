"""Streams that come as Spark DataFrames: packed into blobs on the way, in the order they arrive."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millstream.engine.store import encode

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
            arrays = [batch.column(f.name).cast(f.type, safe=False) for f in schema]
            blob = encode(pa.RecordBatch.from_arrays(arrays, schema=schema))
            yield pa.RecordBatch.from_arrays(
                [pa.array([v], t.type) for v, t in zip((name, part, chunk, None, blob), SCHEMA)],
                schema=SCHEMA,
            )

    wanted = frame.select(*[_plain(frame, f) for f in schema])
    return wanted.mapInArrow(pack, COLUMNS)


def together(frame: DataFrame, parts: int) -> DataFrame:
    """Bring all blobs of one stream to one task: its rows are one sequence."""
    place = F.when(F.col("source").isNull(), F.monotonically_increasing_id()).otherwise(
        F.hash("source")
    )
    return frame.repartitionById(parts, F.pmod(place, F.lit(parts)).cast("int"))


def _plain(frame: DataFrame, field: pa.Field):  # type: ignore[no-untyped-def]
    """A column in a type that Arrow turns into ours: timestamps without zone."""
    column = F.col(f"`{field.name}`")
    if pa.types.is_timestamp(field.type):
        return column.cast("timestamp_ntz").alias(field.name)
    return column.alias(field.name)
