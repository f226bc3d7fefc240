"""Flink SQL in a process of its own, in streaming mode, over the same rows as CSV."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from bench.peers.environment import Missing, python_of

READERS = 2
SETTINGS = {"execution.checkpointing.interval": "10 s"}


class Flink:
    """One process for all turns, so that its Java gets warm as Spark's does."""

    def __init__(self, environment: Path) -> None:
        python = python_of(environment)
        worker = Path(__file__).with_name("flink_worker.py")
        # Python functions in Flink would need a server of Beam's; `process` does not start it.
        env = {**os.environ, "_python_worker_execution_mode": "process"}
        env.pop("PYTHONPATH", None)
        self.process = subprocess.Popen(
            [str(python.absolute()), str(worker)],
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def seconds(self, query: str, streams: Mapping[str, Path]) -> float:
        folders = {name: str(as_csv(folder).absolute()) for name, folder in streams.items()}
        request = {"query": query, "streams": folders, "settings": SETTINGS}
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("answer "):
                answer = json.loads(line.removeprefix("answer "))
                if "error" in answer:
                    raise Missing(f"Flink: {answer['error']}")
                return answer["seconds"]
        raise Missing("Flink's process has ended")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def as_csv(folder: Path) -> Path:
    """The rows of a folder as two CSV files that take turns: a reader each, both in time order.

    Files one after the other in time would make the rows of one reader late for the other.
    """
    target = folder / "csv"
    if not target.exists():
        rows = pq.read_table(sorted(folder.glob("*.parquet")))
        millis = rows["ts"].cast(pa.timestamp("ms")).cast(pa.int64())
        rows = rows.drop_columns("ts").append_column("millis", millis)
        part = folder / "csv-part"
        part.mkdir(exist_ok=True)
        for reader in range(READERS):
            mine = rows.take(pa.array(range(reader, len(rows), READERS)))
            pc.write_csv(mine, part / f"{reader}.csv", pc.WriteOptions(include_header=False))
        part.rename(target)
    return target
