"""Many queries over one stream: what they cost together, shared and not, and to register them."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench.measure import carry_out, middle
from millstream.database import Database
from millstream.local.host import LocalHost

ROWS, ROOMS, PER_UNIT = 1_000_000, 500, 1_000
"""So many readings of some rooms, a thousand in every unit of time."""

PERIODS = (20, 30, 40, 50, 60, 100, 120, 150, 200, 300)
COLDEST, HOTTEST = 50, 100
"""Queries ask for readings above constants between these: a half of them to hardly any."""

HEAD = """
CREATE STREAM readings (ts bigint, room bigint, temperature double) ORDER BY ts
  SOURCE 'readings.parquet';
CREATE STREAM rooms OVER readings KEY room;
"""
CLOCK = "CREATE VIEW every{0} AS SELECT Timepoint FROM clockStr WHERE Timepoint % {0} = 0;\n"
QUERY = (
    "CREATE VIEW hot{number} AS SELECT STREAMED room, temperature "
    "FROM R(rooms, every{period}) WHERE temperature > {constant};\n"
)
AT_ONCE = 1_000
"""So many queries stand in a script."""

MANY, TOO_MANY = 1_000, 10_000


def through_spark(spark: SparkSession, repeats: int) -> dict[str, object]:
    """A thousand queries against one, as everywhere in this benchmark: the time of Spark's
    triggers, with a checkpoint and nobody taking the rows."""
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        _readings(Path(folder))

        def ran(queries: int) -> tuple[float, float]:
            triggers, reports = carry_out(spark, _database(folder, queries, "on").job())
            whole = sum(t["triggerExecution"] for t in triggers) / 1000
            return whole, sum(report.seconds for report in reports)

        pairs = [(ran(1), ran(MANY)) for _ in range(repeats + 1)][1:]
        return {
            "one query, seconds": middle([one[0] for one, _ in pairs]),
            f"{MANY:,} queries, seconds": middle([many[0] for _, many in pairs]),
            "ratio": middle([many[0] / one[0] for one, many in pairs]),
            "ratio, without what Spark and the checkpoint take": middle(
                [many[1] / one[1] for one, many in pairs]
            ),
            "target, at most": 3.0,
        }


def together(repeats: int) -> dict[str, object]:
    """The same in one process, all rows handed over; and some queries that share nothing."""
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        _readings(Path(folder))
        pairs = [(_ran(folder, 1, "on"), _ran(folder, MANY, "on")) for _ in range(repeats + 1)][1:]
        one, many = pairs[-1]
        found: dict[str, object] = {
            "one query, seconds": one["seconds"],
            f"{MANY:,} queries, planned in seconds": many["planned"],
            f"{MANY:,} queries, seconds": many["seconds"],
            f"{MANY:,} queries, rows emitted": int(many["rows"]),
            "ratio": middle([b["seconds"] / a["seconds"] for a, b in pairs]),
            "ratio of CPU seconds": middle([b["cpu"] / a["cpu"] for a, b in pairs]),
        }
        for number in (1, 10, 100):
            for sharing, words in (("off", "alone"), ("on", "shared")):
                ran = _ran(folder, number, sharing)
                found[f"{number} {words}, seconds"] = ran["seconds"]
                found[f"{number} {words}, CPU seconds"] = ran["cpu"]
        return found


def registered() -> dict[str, object]:
    """Ten thousand queries: registered, in scripts and one by one, and run."""
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        _readings(Path(folder))
        started = time.perf_counter()
        database = _database(folder, TOO_MANY, "on")
        seconds = time.perf_counter() - started
        ran = _run(database)
        started = time.perf_counter()
        _database(folder, TOO_MANY, "on", at_once=1)
        one_by_one = time.perf_counter() - started
        return {
            "in scripts, seconds": seconds,
            "one by one, seconds": one_by_one,
            "target, seconds": 60.0,
            "planned in seconds": ran["planned"],
            "run, seconds": ran["seconds"],
            "run, rows emitted": int(ran["rows"]),
        }


def _readings(folder: Path) -> None:
    numbers = np.random.default_rng(1)
    columns = {
        "ts": np.arange(ROWS) // PER_UNIT,
        "room": numbers.integers(0, ROOMS, ROWS),
        "temperature": numbers.normal(50, 15, ROWS),
    }
    pq.write_table(pa.table(columns), folder / "readings.parquet")


def _ran(folder: str, queries: int, sharing: str) -> dict[str, float]:
    return _run(_database(folder, queries, sharing))


def _database(folder: str, queries: int, sharing: str, at_once: int = AT_ONCE) -> Database:
    database = Database(base=folder)
    database.pin("sharing", sharing)
    database.pin("batch_rows", str(ROWS))
    database.execute(HEAD + "".join(CLOCK.format(period) for period in PERIODS))
    spread = np.linspace(COLDEST, HOTTEST, queries, endpoint=False)
    texts = [
        QUERY.format(number=i, period=PERIODS[i % len(PERIODS)], constant=float(constant))
        for i, constant in enumerate(spread)
    ]
    for begin in range(0, queries, at_once):
        database.execute("".join(texts[begin : begin + at_once]))
    return database


class _Taken:
    """Takes the rows, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        self.count += batch.num_rows if name.startswith("hot") else 0

    def whole(self, name: str, content: pa.RecordBatch) -> None: ...

    def sizes(self) -> dict[str, int]:
        return {}

    def close(self) -> None: ...


def _run(database: Database) -> dict[str, float]:
    """A run in one batch, beside its planning: the rows of all queries are made and handed over."""
    taken, began = _Taken(), time.perf_counter()
    job = database.job()
    host = LocalHost(job, database.sources(False), [taken])
    assert job.graph.late is not None and job.graph.components is not None
    started, cpu = time.perf_counter(), time.process_time()
    host.run()
    return {
        "planned": started - began,
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "rows": taken.count,
    }
