"""Many queries over one stream: what they cost together, shared and not, and to register them."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import middle
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


def together(repeats: int) -> dict[str, object]:
    """The time of a run of one query, of a thousand, and of some that share nothing."""
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        _readings(Path(folder))
        found: dict[str, object] = {}
        ratios = []
        for turn in range(repeats + 1):
            one, many = _ran(folder, 1, "on"), _ran(folder, MANY, "on")
            if turn:
                ratios.append((many["seconds"] / one["seconds"], many["cpu"] / one["cpu"]))
        found["one query, seconds"] = one["seconds"]
        found[f"{MANY:,} queries, seconds"] = many["seconds"]
        found[f"{MANY:,} queries, rows emitted"] = int(many["rows"])
        found["ratio"] = middle([wall for wall, _ in ratios])
        found["ratio of CPU seconds"] = middle([cpu for _, cpu in ratios])
        found["target, at most"] = 3.0
        for number in (1, 10, 100):
            alone, shared = _ran(folder, number, "off"), _ran(folder, number, "on")
            found[f"{number} queries that share nothing, seconds"] = alone["seconds"]
            found[f"{number} queries that share, seconds"] = shared["seconds"]
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
    """From the job to its end, planning included: every query's rows are made and handed over."""
    taken = _Taken()
    started, cpu = time.perf_counter(), time.process_time()
    LocalHost(database.job(), database.sources(False), [taken]).run()
    return {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "rows": taken.count,
    }
