"""Results that are read: looked at once a batch, one key of a million, and views on views."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import millstream
from bench.measure import Measured, middle

SUMS = "SELECT COMPLETE item, sum(price) AS total, count(*) AS n FROM bids GROUP BY item;"
KEYS = 1_000_000
"""How many groups the result has of which one is read."""

READS = 200
VIEWS = 10


def chain(form: str = "STREAMED") -> tuple[str, str]:
    """Views on views, and the same query written flat: each adds a column and takes few rows
    away."""
    views = ["CREATE STREAM v0 AS SELECT item, price, bidder, 0 AS s FROM bids;"]
    views += [
        f"CREATE STREAM v{i} AS SELECT item, price, bidder, s + item % {i + 1} AS s "
        f"FROM v{i - 1} WHERE price > {i / 10};"
        for i in range(1, VIEWS)
    ]
    grouped = f"SELECT {form} item, sum(s) AS s, count(*) AS n, sum(price) AS total FROM {{}}"
    last = f"{grouped.format(f'v{VIEWS - 1}')} GROUP BY item;"
    added = " + ".join(f"item % {i + 1}" for i in range(1, VIEWS))
    flat = (
        f"{grouped.format('bids').replace('sum(s)', f'sum({added})')} "
        f"WHERE price > {(VIEWS - 1) / 10} GROUP BY item;"
    )
    return "".join(views) + last, flat


def relations(form: str = "STREAMED") -> tuple[str, str]:
    """The same with views that are relations: groups, and selections of them."""
    first = (
        "SELECT item, count(*) AS n, sum(price) AS total FROM bids [Range 60 Seconds] GROUP BY item"
    )
    views = [f"CREATE VIEW r0 AS {first};"]
    views += [
        f"CREATE VIEW r{i} AS SELECT item, n, total + {i} AS total FROM r{i - 1} WHERE n > {i};"
        for i in range(1, VIEWS)
    ]
    last = f"SELECT {form} item, n, total FROM r{VIEWS - 1};"
    added = sum(range(1, VIEWS))
    flat = (
        f"SELECT {form} item, count(*) AS n, sum(price) + {added} AS total "
        f"FROM bids [Range 60 Seconds] GROUP BY item HAVING count(*) > {VIEWS - 1};"
    )
    return "".join(views) + last, flat


def against_flat(
    run: Callable[[str], Measured], pair: tuple[str, str], repeats: int
) -> dict[str, object]:
    """How many times as long views on views take as the same query written flat."""
    views, flat = pair
    pairs = [(run(views), run(flat)) for _ in range(repeats + 1)][1:]
    return {
        f"{VIEWS} views, rows/s": middle([a.rate for a, _ in pairs]),
        "flat, rows/s": middle([b.rate for _, b in pairs]),
        "times as long": middle([b.rate / a.rate for a, b in pairs]),
        "target, at most": 3.0,
    }


def one_key(spark: SparkSession, batch_rows: int = 100_000) -> dict[str, object]:
    """Reads of one key of a stored result of a million rows while the job takes in more rows."""
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        _write(Path(folder) / "0000.parquet", np.arange(KEYS), 0)
        settings = {"batch_rows": str(batch_rows)}
        with millstream.connect(spark=spark, base=folder, settings=settings) as db:
            db.execute(
                "CREATE STREAM s (k bigint, x double, ts bigint) ORDER BY ts SOURCE '*.parquet';"
                "CREATE VIEW sums AS SELECT COMPLETE k, sum(x) AS total, count(*) AS n "
                "FROM s GROUP BY k;"
            )
            db.start()
            return _read_along(db, Path(folder), batch_rows)


def _read_along(db: millstream.Connection, folder: Path, batch_rows: int) -> dict[str, object]:
    while not (db.is_running and _rows(db) >= KEYS - 1):
        time.sleep(0.5)
    stop = threading.Event()
    writer = threading.Thread(target=_feed, args=(folder, batch_rows, stop), daemon=True)
    before = db.metrics().batches
    writer.start()
    random, seconds = np.random.default_rng(7), []
    for key in random.integers(0, KEYS - 1, READS).tolist():
        began = time.perf_counter()
        found = db.read(f"SELECT total, n FROM sums WHERE k = {key}")
        seconds.append(time.perf_counter() - began)
        assert found.num_rows == 1
        time.sleep(0.02)
    stop.set()
    writer.join()
    milliseconds = np.array(seconds) * 1000
    return {
        "rows of the result": KEYS,
        "p50 milliseconds": float(np.percentile(milliseconds, 50)),
        "p90 milliseconds": float(np.percentile(milliseconds, 90)),
        "p99 milliseconds": float(np.percentile(milliseconds, 99)),
        "target of p50": 20.0,
        "batches meanwhile": db.metrics().batches - before,
    }


def _rows(db: millstream.Connection) -> int:
    try:
        return db.read("SELECT count(*) AS n FROM sums").column("n")[0].as_py()
    except millstream.MillstreamError:
        return 0


def _feed(folder: Path, rows: int, stop: threading.Event) -> None:
    """A file of more rows every tenth of a second."""
    random, number = np.random.default_rng(8), 1
    while not stop.is_set():
        _write(
            folder / f"{number:04d}.parquet", random.integers(0, KEYS, rows // 10), number * KEYS
        )
        number += 1
        time.sleep(0.1)


def _write(path: Path, keys: np.ndarray, start: int) -> None:
    stamps = start + np.arange(len(keys))
    rows = pa.table({"k": keys, "x": np.ones(len(keys)), "ts": stamps})
    hidden = path.with_suffix(".part")
    pq.write_table(rows, hidden)
    hidden.rename(path)
