"""The source that Spark sees: it hands out errands, and workers do the reading.

Spark owns offsets and batches; an offset holds the positions of all sources and the errands of the
batch that leads to it, so that a batch that runs again reads exactly the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from millstream.engine.errands import TICK, Errand, plan_errands, ticks
from millstream.spark.parcel import current_parcel


class ErrandSource(DataSource):
    """Errands as a Spark stream of one text column."""

    @classmethod
    def name(cls) -> str:
        return "millstream_errands"

    def schema(self) -> str:
        return "source string, part long, chunk long, errand string, rows binary"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return ErrandReader(self.options["folder"])


class ErrandReader(DataSourceStreamReader):
    """Plans batches from the current job's sources."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._first = True

    def initialOffset(self) -> dict:
        sources = current_parcel(self.folder).sources
        return _offset({n: {"at": s.start(), "ended": False} for n, s in sources.items()}, [], 0)

    def latestOffset(self, start: dict, limit: Any = None) -> dict:
        plan = json.loads(start["plan"])
        if self._first:  # a new run looks again at sources that had ended: they may have grown
            self._first = False
            positions = plan["positions"].items()
            plan["positions"] = {n: {**p, "ended": False} for n, p in positions}
        parcel = current_parcel(self.folder)
        streams = parcel.job.streams
        now = max(time.time_ns() // 1000, plan["now"] + 1)
        errands, positions = plan_errands(
            streams, parcel.sources, plan["positions"], parcel.job.settings.batch_rows, now
        )
        errands += self._ends(streams, positions, now)
        beats = ticks(streams, positions, now)
        if beats and (errands or now - plan["now"] >= TICK):
            errands += beats
        known = positions.keys() == plan["positions"].keys()
        return start if known and not errands else _offset(positions, errands, now)

    def partitions(self, start: dict, end: dict) -> Sequence[InputPartition]:
        if start == end:
            return []
        return [InputPartition(json.dumps(e)) for e in json.loads(end["plan"])["errands"]]

    def read(self, partition: InputPartition) -> Iterator[tuple]:
        yield (None, 0, 0, partition.value, None)

    def commit(self, end: dict) -> None: ...

    def _ends(self, streams: Any, positions: dict[str, Any], now: int) -> list[Errand]:
        """The end of streams that Spark feeds, when the run has declared it."""
        marker = Path(self.folder) / "ended"
        if not marker.exists():
            return []
        open_ones = [
            n
            for n, s in streams.items()
            if s.source is None and s.of is None and not positions.get(n, {}).get("ended")
        ]
        for name in open_ones:
            positions[name] = {"at": {}, "ended": True}
        return [Errand(name, (), None, True, now) for name in open_ones]


def _offset(positions: dict[str, Any], errands: list[Errand], now: int) -> dict:
    plan = {"positions": positions, "errands": [e.to_json() for e in errands], "now": now}
    return {"plan": json.dumps(plan)}
