"""The source that Spark sees: it hands out errands, and workers do the reading.

Spark owns offsets and batches; an offset holds the positions of all sources and the errands of the
batch that leads to it, so that a batch that runs again reads exactly the same. What comes next is
known at the host's desk. Spark runs this source in processes of its own, several for every run, so
the module goes to them by value and imports nothing that takes time.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition


class ErrandSource(DataSource):
    """Errands as a Spark stream of one text column."""

    @classmethod
    def name(cls) -> str:
        return "millstream_errands"

    def schema(self) -> str:
        return "source string, part long, chunk long, errand string, rows binary"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return ErrandReader(self.options["desk"])


class ErrandReader(DataSourceStreamReader):
    """Asks at the desk for the errands of the next batch."""

    def __init__(self, desk: str) -> None:
        self.desk = desk

    def initialOffset(self) -> dict:
        return {"plan": self._ask(None)}

    def latestOffset(self, start: dict, limit: Any = None) -> dict:
        return {"plan": self._ask(start["plan"])}

    def partitions(self, start: dict, end: dict) -> Sequence[InputPartition]:
        if start == end:
            return []
        return [InputPartition(json.dumps(e)) for e in json.loads(end["plan"])["errands"]]

    def read(self, partition: InputPartition) -> Iterator[tuple]:
        yield (None, 0, 0, partition.value, None)

    def commit(self, end: dict) -> None: ...

    def _ask(self, plan: str | None) -> str:
        """One line there, one line back."""
        with socket.socket(socket.AF_UNIX) as line, line.makefile("rw") as talk:
            line.connect(self.desk)
            talk.write(json.dumps(plan) + "\n")
            talk.flush()
            answer = json.loads(talk.readline() or '{"error": "the run has ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["plan"]


cloudpickle.register_pickle_by_value(sys.modules[__name__])
