"""`python -m bench.latency`: how long a row takes from the write to the result it changes."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import millstream
from bench.figures import FOLDER
from bench.plots import draw
from bench.writer import write, writing
from millstream.spark.session import make_session

RATES = (1_000, 10_000, 100_000, 500_000)
HIGHER = (750_000, 1_000_000, 1_250_000, 1_500_000, 1_750_000, 2_000_000)
"""Rates for which the highest one with a p99 under a second is looked for."""

WARM = 8.0
"""Seconds whose rows are not counted: code is loaded, and the first batches are large."""

SOME, LONGEST = 1_000, 120.0
"""Rows per second before anything is measured, and how long their first batch may take."""

QUERIES = {
    "filter": (
        "CREATE VIEW answer AS SELECT Istream(item, price, bidder) FROM bids WHERE price > 50;"
    ),
    "sliding group by": (
        "CREATE VIEW answer AS SELECT STREAMED item, count(*) AS n, sum(price) AS total, "
        "avg(price) AS mean FROM bids [Range 10 Seconds] GROUP BY item;"
    ),
    "join of two streams": (
        "CREATE VIEW answer AS SELECT Istream(b.item, b.price, a.price AS asked) "
        "FROM bids [Range 1 Second] b, asks [Range 1 Second] a "
        "WHERE b.item = a.item AND b.bidder < 10000;"
    ),
    "three chained views": (
        "CREATE VIEW high AS SELECT Istream(item, price, bidder, ts) FROM bids WHERE price > 20; "
        "CREATE VIEW sums AS SELECT item, count(*) AS n, sum(price) AS total "
        "FROM high [Range 10 Seconds] GROUP BY item; "
        "CREATE VIEW answer AS SELECT STREAMED item, n FROM sums WHERE total > 1000;"
    ),
}
GROUPED = "sliding group by"


@dataclass(frozen=True)
class Latency:
    """Milliseconds from the instant of a row to the call with the result, over all result rows;
    and how many of the rows written were read by the end."""

    query: str
    rate: int
    p50: float
    p90: float
    p99: float
    highest: float
    results: int
    kept_up: bool


class Stopwatch:
    """Takes the latencies of result rows, counted by the millisecond."""

    def __init__(self, since: float) -> None:
        self.since = since * 1e6
        self.counts = np.zeros(600_000, np.int64)

    def rows(self, batch: pa.RecordBatch) -> None:
        now = time.time() * 1e6
        instants = batch.column("ts").cast(pa.int64()).to_numpy(zero_copy_only=False)
        behind = ((now - instants[instants >= self.since]) / 1000).astype(np.int64)
        found = np.bincount(np.minimum(behind, len(self.counts) - 1))
        self.counts[: len(found)] += found

    def quantile(self, share: float) -> float:
        total = self.counts.cumsum()
        return float(np.searchsorted(total, share * total[-1])) if total[-1] else float("nan")


def measure(spark: object, query: str, rate: int, seconds: float) -> Latency:
    """Write for some seconds while a job with a checkpoint follows; how late results are."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-latency-"))
    names = ["bids", "asks"] if "asks" in QUERIES[query] else ["bids"]
    for name in names:
        (folder / name).mkdir()
    try:
        with millstream.connect(spark=spark, checkpoint=str(folder / "kept"), base=folder) as db:
            for name in names:
                db.execute(
                    f"CREATE STREAM {name} (item bigint, price double, bidder bigint, "
                    f"ts timestamp) ORDER BY ts SOURCE '{name}/*.parquet';"
                )
            answer = db.execute(QUERIES[query])[-1]
            for name in names:
                write(folder / name, SOME, 0.1)
            db.start()
            _wait_for_a_batch(db)
            watch = Stopwatch(time.time() + WARM)
            answer.subscribe(watch.rows)
            writers = [writing(folder / n, rate // len(names), seconds + WARM) for n in names]
            for writer in writers:
                writer.join()
            ended = time.time()
            time.sleep(1.0)
            lag = db.metrics().lag
            db.stop()
            failed = any(writer.exitcode for writer in writers)
        kept_up = not failed and lag is not None and lag < time.time() - ended + 1.0
        p50, p90, p99, highest = map(watch.quantile, (0.5, 0.9, 0.99, 1.0))
        return Latency(query, rate, p50, p90, p99, highest, int(watch.counts.sum()), kept_up)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for_a_batch(db: millstream.Connection) -> None:
    """Wait until Spark has begun and a batch is done, which does not count."""
    until = time.monotonic() + LONGEST
    while db.metrics().lag is None and time.monotonic() < until:
        time.sleep(0.05)


def picture(found: Sequence[Latency], folder: Path = FOLDER) -> None:
    """Draw the milliseconds of every query by rate; of several runs at one rate the last."""
    panels: dict[str, dict[str, dict[int, float]]] = {}
    for one in found:
        lines = panels.setdefault(one.query, {"p50": {}, "p90": {}, "p99": {}})
        for share, line in lines.items():
            line[one.rate] = getattr(one, share)
    draw("latency", "milliseconds from the write to the result", "rows/s", panels, folder)


def measurements(spark: object, seconds: float, only: str | None) -> Iterator[Latency]:
    for query in QUERIES:
        if only is None or only in query:
            for rate in RATES:
                yield measure(spark, query, rate, seconds)
    if only is None or only in GROUPED:
        for rate in HIGHER:
            found = measure(spark, GROUPED, rate, min(seconds, 20.0))
            yield found
            if not found.kept_up or found.p99 > 1_000:
                break


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--only", help="only queries with this in their name")
    arguments.add_argument("--out", type=Path, default=Path("bench-out/latency.json"))
    arguments.add_argument("--figures", type=Path, default=FOLDER, help="where the plot goes")
    asked = arguments.parse_args()
    spark = make_session("local[2]")
    table = Table(title="milliseconds from the write to the result")
    for title in ("query", "rows/s", "p50", "p90", "p99", "highest", "results", "kept up"):
        table.add_column(title, justify="left" if title == "query" else "right")
    found = []
    for one in measurements(spark, asked.seconds, asked.only):
        found.append(one)
        cells = (one.p50, one.p90, one.p99, one.highest, one.results)
        kept = "yes" if one.kept_up else "no"
        table.add_row(one.query, f"{one.rate:,}", *(f"{cell:,.0f}" for cell in cells), kept)
        print(one, flush=True)
    Console().print(table)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    known = _others(asked.out, found) if asked.only else []
    found = [*known, *found]
    asked.out.write_text(json.dumps([asdict(one) for one in found], indent=2) + "\n")
    picture(found, asked.figures)


def _others(file: Path, found: Sequence[Latency]) -> list[Latency]:
    """What an earlier run has measured of queries that were not measured now."""
    if not file.exists():
        return []
    now = {one.query for one in found}
    known = [Latency(**one) for one in json.loads(file.read_text())]
    return [one for one in known if one.query not in now]


if __name__ == "__main__":
    main()
