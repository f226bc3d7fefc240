"""Results as a Spark stream: `spark.readStream.format("millstream")` over the log of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, DataType, TimestampType

from millstream.engine.log import batches_between, last_batch, read_address
from millstream.engine.outputs import unique_names


class ResultSource(DataSource):
    """The result rows of one query, batch by batch, each once."""

    @classmethod
    def name(cls) -> str:
        return "millstream"

    def schema(self) -> str:
        return self.options["schema"]

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        instants = [field.name for field in schema.fields if _is_instant(field.dataType)]
        return ResultReader(self.options["folder"], self.options["query"], instants)


class ResultReader(DataSourceStreamReader):
    """An offset is the number of the last batch read. `instants` are columns of TIMESTAMPs."""

    def __init__(self, folder: str, query: str, instants: Sequence[str]) -> None:
        self.folder, self.query, self.instants = folder, query, frozenset(instants)

    def initialOffset(self) -> dict:
        return {"batch": -1}

    def latestOffset(self, start: dict, limit: Any = None) -> dict:
        return {"batch": max(start["batch"], last_batch(self.folder))}

    def partitions(self, start: dict, end: dict) -> Sequence[InputPartition]:
        addresses = batches_between(self.folder, self.query, start["batch"], end["batch"])
        return [InputPartition(address) for address in addresses]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield _for_spark(read_address(partition.value), self.instants)

    def commit(self, end: dict) -> None: ...


def _for_spark(batch: pa.RecordBatch, instants: Set[str]) -> pa.RecordBatch:
    """The same rows under different names, which Spark needs, and with times in the zone UTC."""
    names = unique_names(batch.schema.names)
    arrays = [
        column.cast(_zoned(column.type)) if name in instants else column
        for name, column in zip(names, batch.columns)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _is_instant(type: DataType) -> bool:
    return isinstance(type.elementType if isinstance(type, ArrayType) else type, TimestampType)


def _zoned(type: pa.DataType) -> pa.DataType:
    zoned = pa.timestamp("us", "UTC")
    return pa.list_(zoned) if pa.types.is_list(type) else zoned


def spark_schema(schema: pa.Schema) -> str:
    """The columns of a result in Spark's own words.

    Times are written `timestamp`, which Spark reads as its setting spark.sql.timestampType says: an
    instant, or a time without a zone.
    """
    named = pa.schema([f.with_name(n) for n, f in zip(unique_names(schema.names), schema)])
    return ", ".join(
        f"`{f.name}` {f.dataType.simpleString()}"
        for f in from_arrow_schema(named, prefer_timestamp_ntz=False)
    )
