"""Results as a Spark stream: `spark.readStream.format("millstream")` over the log of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

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
        return ResultReader(self.options["folder"], self.options["query"])


class ResultReader(DataSourceStreamReader):
    """An offset is the number of the last batch read."""

    def __init__(self, folder: str, query: str) -> None:
        self.folder, self.query = folder, query

    def initialOffset(self) -> dict:
        return {"batch": -1}

    def latestOffset(self, start: dict, limit: Any = None) -> dict:
        return {"batch": max(start["batch"], last_batch(self.folder))}

    def partitions(self, start: dict, end: dict) -> Sequence[InputPartition]:
        addresses = batches_between(self.folder, self.query, start["batch"], end["batch"])
        return [InputPartition(address) for address in addresses]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield _renamed(read_address(partition.value))

    def commit(self, end: dict) -> None: ...


def _renamed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows under different names, which Spark needs."""
    return batch.rename_columns(unique_names(batch.schema.names))


def spark_schema(schema: pa.Schema) -> str:
    """The columns of a result in Spark's own words."""
    named = pa.schema([f.with_name(n) for n, f in zip(unique_names(schema.names), schema)])
    return ", ".join(
        f"`{f.name}` {f.dataType.simpleString()}"
        for f in from_arrow_schema(named, prefer_timestamp_ntz=True)
    )
