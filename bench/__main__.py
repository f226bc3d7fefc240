"""`make bench`: ratios measured in one run, as a table and as a JSON file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from bench.data import FILES, ROWS, make
from bench.measure import Measured, middle, ours, source, sparks
from millstream.spark.session import make_session

GROUPED = (
    "SELECT STREAMED item, count(*) AS n, sum(price) AS total, avg(price) AS mean "
    "FROM bids [Range {window}] GROUP BY item;"
)
FILTER = "SELECT Istream(item, price, bidder) FROM bids WHERE price > 50;"
BY_ROWS = "SELECT STREAMED count(*) AS n, sum(price) AS total FROM bids [Rows {window}];"
ONE_LEVEL = "SELECT STREAMED item, count(*) AS n FROM bids [Range 60 Seconds] GROUP BY item;"
TWO_LEVELS = (
    "SELECT STREAMED item, count(*) AS n FROM bids [Partition By bidder Rows 10] GROUP BY item;"
)
SMALL = 1_000
WARM_UP = 4
"""Turns that do not count: the Java side is still getting faster after the first."""


class Bench:
    """The measurements, each as a line of the table and an entry of the file."""

    def __init__(self, folder: Path, repeats: int, batch_files: int) -> None:
        self.spark = make_session("local[2]")
        self.folder = folder
        self.repeats = repeats
        self.files = batch_files
        self.batch = ROWS // FILES * batch_files
        self.data = make(folder)
        self.results: dict[str, dict[str, object]] = {}

    def run(self) -> None:
        self._against_spark(
            "sliding group by", GROUPED.format(window="60 Seconds"), self._grouped, "update"
        )
        self._against_spark("filter", FILTER, self._filtered, "append")
        self._flat("range window", GROUPED, "1 Seconds", "1000 Seconds")
        self._flat("rows window", BY_ROWS, "1000", "1000000")
        self._state()
        self._small("one level", ONE_LEVEL)
        self._small("two levels", TWO_LEVELS)

    def _grouped(self):  # type: ignore[no-untyped-def]
        frame = source(self.spark, self.data, self.files)
        return frame.groupBy("item").agg(F.sum("price"), F.count("*"))

    def _filtered(self):  # type: ignore[no-untyped-def]
        frame = source(self.spark, self.data, self.files)
        return frame.where("price > 50").select("item", "price", "bidder")

    def _ours(self, query: str) -> Measured:
        return ours(self.spark, self.data, query, ROWS, self.batch)

    def _against_spark(self, name, query, frame, mode) -> None:  # type: ignore[no-untyped-def]
        """Turn by turn, after some to warm up; the ratio is the middle of the turns' ratios."""
        mine, theirs = [], []
        for turn in range(self.repeats + WARM_UP):
            own, other = self._ours(query), sparks(frame(), ROWS, mode)
            if turn >= WARM_UP:
                mine.append(own)
                theirs.append(other)
        ratio = middle([a.rate / b.rate for a, b in zip(mine, theirs)])
        self._note(
            name,
            {
                "ours rows/s": middle([m.rate for m in mine]),
                "spark rows/s": middle([m.rate for m in theirs]),
                "ratio": ratio,
                "target": 1.0,
                "state bytes per batch": mine[-1].batches[-1].state_bytes,
            },
        )

    def _flat(self, name: str, query: str, narrow: str, wide: str) -> None:
        pairs = []
        for turn in range(self.repeats + 1):
            pair = self._ours(query.format(window=narrow)), self._ours(query.format(window=wide))
            if turn:
                pairs.append(pair)
        small, large = pairs[-1]
        self._note(
            f"{name} of 1,000,000 rows against 1,000",
            {
                "narrow rows/s": middle([a.rate for a, _ in pairs]),
                "wide rows/s": middle([b.rate for _, b in pairs]),
                "ratio": middle([b.rate / a.rate for a, b in pairs]),
                "target": 0.8,
                "narrow state bytes per batch": small.batches[-1].state_bytes,
                "wide state bytes per batch": large.batches[-1].state_bytes,
            },
        )

    def _state(self) -> None:
        """Bytes of state written by a batch of 100,000 rows, for windows of many sizes."""
        data = make(self.folder, 2_000_000, 2)
        written = {}
        for seconds in (1, 10, 100, 1000):
            query = GROUPED.format(window=f"{seconds} Seconds")
            measured = ours(self.spark, data, query, 2_000_000, 100_000)
            bytes_each = [b.state_bytes for b in measured.batches[-6:-1]]
            written[f"window of {seconds * 1000:,} rows"] = int(middle(bytes_each))
        self._note("state bytes written by a batch of 100,000 rows", written)

    def _small(self, name: str, query: str) -> None:
        data = make(self.folder, 40 * SMALL, 1)
        measured = ours(self.spark, data, query, 40 * SMALL, SMALL)
        late = measured.batches[10:]
        parts = {k: middle([b.parts[k] for b in late]) * 1000 for k in late[0].parts}
        triggers = measured.triggers[10:]
        spark = (
            {
                k: middle([t.get(k, 0) for t in triggers])
                for k in (
                    "triggerExecution",
                    "latestOffset",
                    "queryPlanning",
                    "addBatch",
                    "walCommit",
                    "commitOffsets",
                )
            }
            if triggers
            else {}
        )
        self._note(
            f"batch of 1,000 rows, {name}",
            {
                "milliseconds": middle([b.seconds for b in late]) * 1000,
                **parts,
                **{f"spark {k}": v for k, v in spark.items()},
            },
        )

    def _note(self, name: str, values: dict[str, object]) -> None:
        self.results[name] = values
        show(name, values)


def show(name: str, values: dict[str, object]) -> None:
    table = Table(title=name, show_header=False, title_justify="left")
    for key, value in values.items():
        table.add_row(key, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
    Console(width=80).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--folder", type=Path, default=Path("bench-out"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch-files", type=int, default=8, help="files of 1M rows per batch")
    options = parser.parse_args()
    bench = Bench(options.folder, options.repeats, options.batch_files)
    bench.run()
    target = options.folder / "results.json"
    target.write_text(json.dumps(bench.results, indent=2) + "\n")
    print(f"written to {target}")


if __name__ == "__main__":
    main()
