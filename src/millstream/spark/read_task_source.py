"""The source that Spark sees: it hands out read tasks, and workers do the reading.

Spark owns offsets and batches; an offset holds the positions of all sources and the read tasks of
the batch that leads to it, so that a batch that runs again reads exactly the same. What comes next
is known to the host's batch planner. Spark runs this source in processes of its own, several for
every run, so the module goes to them by value and imports nothing that takes time.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition


class ReadTaskSource(DataSource):
    """Read tasks as a Spark stream of one text column."""

    @classmethod
    def name(cls) -> str:
        return "millstream_read_tasks"

    def schema(self) -> str:
        return "source string, part long, chunk long, task string, rows binary"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return ReadTaskReader(self.options["planner"])


class ReadTaskReader(DataSourceStreamReader):
    """Asks at the batch planner for the read tasks of the next batch."""

    def __init__(self, planner: str) -> None:
        self.planner = planner

    def initialOffset(self) -> dict:
        return {"plan": self._ask(None)}

    def latestOffset(self, start: dict, limit: Any = None) -> dict:
        return {"plan": self._ask(start["plan"])}

    def partitions(self, start: dict, end: dict) -> Sequence[InputPartition]:
        if start == end:
            return []
        return [InputPartition(json.dumps(e)) for e in json.loads(end["plan"])["tasks"]]

    def read(self, partition: InputPartition) -> Iterator[tuple]:
        yield (None, 0, 0, partition.value, None)

    def commit(self, end: dict) -> None: ...

    def _ask(self, plan: str | None) -> str:
        """One line there, one line back."""
        with socket.socket(socket.AF_UNIX) as line, line.makefile("rw") as talk:
            line.connect(self.planner)
            talk.write(json.dumps(plan) + "\n")
            talk.flush()
            answer = json.loads(talk.readline() or '{"error": "the run has ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["plan"]


cloudpickle.register_pickle_by_value(sys.modules[__name__])
