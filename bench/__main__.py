"""`make bench`: ratios measured in one run, as a table and as a JSON file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from bench import (
    figures,
    over,
    own,
    patterns,
    plots,
    reading,
    sharing,
    strategies,
    synchronized,
    windowed_operators,
)
from bench.data import FILES, ROWS, make
from bench.measure import Measured, middle, ours, source, sparks
from millstream.spark.session import REUSED_MEMORY, make_session

GROUPED = (
    "SELECT STREAMED item, count(*) AS n, sum(price) AS total, avg(price) AS mean "
    "FROM bids [Range {window}] GROUP BY item;"
)
FILTER = "SELECT Istream(item, price, bidder) FROM bids WHERE price > 50;"
SUMS = "SELECT STREAMED item, sum(price) AS total, count(*) AS n FROM bids GROUP BY item;"
BY_ROWS = "SELECT STREAMED count(*) AS n, sum(price) AS total FROM bids [Rows {window}];"
ONE_LEVEL = "SELECT STREAMED item, count(*) AS n FROM bids [Range 60 Seconds] GROUP BY item;"
TWO_LEVELS = (
    "SELECT STREAMED item, count(*) AS n FROM bids [Partition By bidder Rows 10] GROUP BY item;"
)
JOIN = (
    "SELECT Istream(b.item, b.price, a.price) "
    "FROM bids [Range 10 Seconds] b, asks [Range 10 Seconds] a WHERE b.item = a.item;"
)
COUNT = "SELECT STREAMED count(*) AS n FROM bids [Range {window}];"
DISTINCT = "SELECT STREAMED DISTINCT item FROM bids [Range {window}];"
NOT_IN = (
    "SELECT STREAMED item, bidder FROM bids [Range {window}] "
    "WHERE bidder NOT IN (SELECT bidder FROM asks [Range {window}]);"
)
PART = (
    "SELECT STREAMED count(*) AS n, avg(price) AS mean FROM bids [Range 60 Seconds] "
    "WHERE item % 50 = {part};"
)
BY_PARTITIONS = (
    "SELECT STREAMED item, avg(price) AS mean "
    "FROM bids [Partition By item Rows 1000] GROUP BY item;"
)
TOP_TEN = "SELECT STREAMED item, count(*) AS n FROM bids GROUP BY item ORDER BY n DESC LIMIT 10;"
HOPPING = (
    "SELECT STREAMED item, count(*) AS n, sum(price) AS total "
    "FROM bids [Range 10 Seconds Slide 1 Second] GROUP BY item;"
)
NOT_EXISTS = (
    "SELECT STREAMED b.item, b.bidder FROM bids b WHERE NOT EXISTS "
    "(SELECT * FROM asks a WHERE a.item = b.item AND b.bidder = a.bidder + 1);"
)
QUERIES = 50
WIDE = 1_000_000
SMALL = 1_000
WARM_UP = 4
"""Turns that do not count: the Java side is still getting faster after the first."""


class Bench:
    """The measurements, each as a line of the table and an entry of the file."""

    def __init__(self, folder: Path, repeats: int, batch_files: int, only: str | None) -> None:
        self.folder = folder
        self.only = only
        self.repeats = repeats
        self.files = batch_files
        self.batch = ROWS // FILES * batch_files
        self.results: dict[str, dict[str, object]] = {}

    @cached_property
    def spark(self) -> SparkSession:
        return make_session("local[2]")

    @cached_property
    def data(self) -> Path:
        return make(self.folder)

    @cached_property
    def pair(self) -> dict[str, Path]:
        half = ROWS // 2, FILES // 2
        return {name: make(self.folder, *half, stream=name) for name in ("bids", "asks")}

    def run(self) -> None:
        for name, measure in self.measurements.items():
            if self.only is None or self.only in name:
                measure()

    @property
    def measurements(self) -> dict[str, Callable[[], None]]:
        one, two = self._one, self._two
        against, flat = self._against_spark, self._flat
        grouped = GROUPED.format(window="60 Seconds")
        return {
            "sliding group by": lambda: against(
                "sliding group by", one, grouped, self._grouped, "update", 1.0
            ),
            "filter": lambda: against("filter", one, FILTER, self._filtered, "append", 1.0),
            "backlog, filter": lambda: against(
                "backlog, filter", self._backlog, FILTER, self._filtered, "append", 0.8
            ),
            "backlog, sums": lambda: against(
                "backlog, sums", self._backlog, SUMS, self._grouped, "update", 1.0
            ),
            "read once": self._read_once,
            "chain of views": self._chain,
            "one key": lambda: self._note("one key of a result", reading.one_key(self.spark)),
            "join": lambda: against("join", two, JOIN, self._joined, "append", 2.0, turns=(1, 1)),
            "range window": lambda: flat("range window", one, GROUPED, 1_000),
            "rows window": lambda: flat("rows window", one, BY_ROWS, 1_000, ""),
            "global count": lambda: flat("global count", one, COUNT, 10_000),
            "hour": self._hour,
            "distinct": lambda: flat("distinct", one, DISTINCT, 10_000),
            "not in": lambda: flat("not in", two, NOT_IN, 10_000),
            "partitioned rows": lambda: self._rate("partitioned rows", BY_PARTITIONS, 2.5e6),
            "top ten": lambda: self._rate("top ten", TOP_TEN, 3e6),
            "hopping window": lambda: self._rate("hopping window", HOPPING, None),
            "not exists": self._not_exists,
            "over": self._over,
            "own aggregates": self._own,
            "patterns": self._patterns,
            "synchronized": self._synchronized,
            "many": self._many,
            "sharing": self._sharing,
            "state": self._state,
            "small": self._smalls,
            "strategies": self._strategies,
        }

    def _smalls(self) -> None:
        self._small("one level", ONE_LEVEL)
        self._small("two levels", TWO_LEVELS)

    def _grouped(self):  # type: ignore[no-untyped-def]
        frame = source(self.spark, self.data, self.files)
        return frame.groupBy("item").agg(F.sum("price"), F.count("*"))

    def _filtered(self):  # type: ignore[no-untyped-def]
        frame = source(self.spark, self.data, self.files)
        return frame.where("price > 50").select("item", "price", "bidder")

    def _joined(self):  # type: ignore[no-untyped-def]
        bids, asks = (
            source(self.spark, self.pair[name], self.files // 2 or 1)
            .select(*(F.col(c).alias(f"{name}_{c}") for c in ("item", "price", "ts")))
            .withWatermark(f"{name}_ts", "0 seconds")
            for name in self.pair
        )
        near = F.expr(
            "bids_item = asks_item AND bids_ts >= asks_ts - INTERVAL 10 SECONDS "
            "AND bids_ts <= asks_ts + INTERVAL 10 SECONDS"
        )
        return bids.join(asks, near).select("bids_item", "bids_price", "asks_price")

    def _one(self, query: str) -> Measured:
        """A query over one stream of 8 million rows."""
        return ours(self.spark, {"bids": self.data}, query, ROWS, self.batch)

    def _backlog(self, query: str) -> Measured:
        """The same with batches as large as the default settings make them."""
        return ours(self.spark, {"bids": self.data}, query, ROWS, None)

    def _two(self, query: str) -> Measured:
        """A query over two streams of 4 million rows each."""
        return ours(self.spark, self.pair, query, ROWS, self.batch // 2)

    def _against_spark(self, name, run, query, frame, mode, target, turns=None) -> None:  # type: ignore[no-untyped-def]
        """Turn by turn, after some to warm up; the ratio is the middle of the turns' ratios.

        `turns` is how many to warm up and how many to count, where others take too long.
        """
        warm_up, repeats = turns or (WARM_UP, self.repeats)
        mine, theirs = [], []
        for turn in range(repeats + warm_up):
            own, other = run(query), sparks(frame(), ROWS, mode)
            if turn >= warm_up:
                mine.append(own)
                theirs.append(other)
        ratio = middle([a.rate / b.rate for a, b in zip(mine, theirs)])
        self._note(
            name,
            {
                "ours rows/s": middle([m.rate for m in mine]),
                "spark rows/s": middle([m.rate for m in theirs]),
                "ratio": ratio,
                "target": target,
                "state bytes per batch": mine[-1].batches[-1].state_bytes,
            },
        )

    def _flat(self, name, run, query, narrow, unit=" Milliseconds") -> None:  # type: ignore[no-untyped-def]
        """The same query over a window of few rows and over one of a million."""
        pairs = []
        for turn in range(self.repeats + 1):
            pair = (
                run(query.format(window=f"{narrow}{unit}")),
                run(query.format(window=f"{WIDE}{unit}")),
            )
            if turn:
                pairs.append(pair)
        small, large = pairs[-1]
        self._note(
            f"{name} of {WIDE:,} rows against {narrow:,}",
            {
                "narrow rows/s": middle([a.rate for a, _ in pairs]),
                "wide rows/s": middle([b.rate for _, b in pairs]),
                "ratio": middle([b.rate / a.rate for a, b in pairs]),
                "target": 0.8,
                "narrow state bytes per batch": small.batches[-1].state_bytes,
                "wide state bytes per batch": large.batches[-1].state_bytes,
            },
        )

    def _hour(self) -> None:
        measured = [self._one(COUNT.format(window="1 Hour")) for _ in range(self.repeats + 1)][1:]
        self._note(
            "global count over [Range 1 Hour]", {"rows/s": middle([m.rate for m in measured])}
        )

    def _rate(self, name, query, target) -> None:  # type: ignore[no-untyped-def]
        """Rows per second in batches of the asked size, and in batches of a million rows."""
        whole = [self._one(query) for _ in range(self.repeats + 1)][1:]
        small = [
            ours(self.spark, {"bids": self.data}, query, ROWS, WIDE)
            for _ in range(self.repeats + 1)
        ][1:]
        figures = {
            "rows/s": middle([m.rate for m in whole]),
            f"batches of {WIDE:,}, rows/s": middle([m.rate for m in small]),
            "state bytes per batch": whole[-1].batches[-1].state_bytes,
        }
        self._note(name, figures if target is None else {**figures, "target, rows/s": target})

    def _not_exists(self) -> None:
        """Between two streams that keep all their rows; the ratio is that of the second half of
        the rows to the first, in batches of a million: the cost must not grow with what is kept."""
        whole = [self._two(NOT_EXISTS) for _ in range(self.repeats + 1)][1:]
        steps = [
            ours(self.spark, self.pair, NOT_EXISTS, ROWS, WIDE // 2)
            for _ in range(self.repeats + 1)
        ][1:]
        half = len(steps[0].batches) // 2
        early, late = (
            middle([sum(b.seconds for b in m.batches[part]) for m in steps])
            for part in (slice(0, half), slice(half, 2 * half))
        )
        self._note(
            "NOT EXISTS between unbounded streams",
            {
                "rows/s": middle([m.rate for m in whole]),
                "target, rows/s": 1.5e6,
                f"batches of {WIDE:,}, rows/s": middle([m.rate for m in steps]),
                "ratio": early / late,
                "target": 0.8,
            },
        )

    def _over(self) -> None:
        """Windows of every row against DuckDB's, and what a slide saves."""
        for name, query in over.AVERAGES.items():
            found = over.against_duckdb(self._one, self.data, query, self.repeats, 1)
            self._note(f"over: {name}", found)
        self._note("over: sum of 40,000 rows with a slide", over.slides(self._one))

    def _own(self) -> None:
        """Aggregates of one's own: grouped, over windows, with slides, after a restart."""
        few = make(self.folder, own.FEW, 1)
        frame = source(self.spark, few, 1)
        self._note("own: decay average", own.grouped(self._backlog, frame, own.FEW, self.repeats))
        self._note("own: windows", own.over_windows(self._backlog))
        self._note("own: slides", own.slides(self._backlog))
        self._note("own: first call", own.first_calls())
        for name, found in windowed_operators.run().items():
            self._note(f"own: {name} in the operator", found)
        plots.write(self.results)

    def _patterns(self) -> None:
        """The optimized search and the naive one; patterns through Spark; what they keep."""
        for name, found in patterns.searched(self.repeats).items():
            self._note(f"patterns: {name}", found)
        self._note("patterns: a star of a million tuples", patterns.long_star())
        self._note("patterns: open attempts", patterns.open_attempts())
        self._note("patterns: through Spark", patterns.beside_sums(self._backlog, self.repeats))

    def _synchronized(self) -> None:
        """What is handed on, and what it costs, by how far the points are apart."""
        for title, (view, query) in synchronized.QUERIES.items():
            for name, cost in synchronized.costs(view, query).items():
                self._note(f"synchronized: {title}, {name}", {**vars(cost)})

    def _read_once(self) -> None:
        """Sums of which nobody reads the changes, in one batch and in batches of a million rows."""
        for rows, files in ((ROWS, FILES), (WIDE, 1)):
            name = f"result that is read, batches of {rows:,}"
            self.files, self.batch = files, rows
            self._against_spark(name, self._one, reading.SUMS, self._grouped, "update", 1.0)

    def _chain(self) -> None:
        """Ten views on views against the same query written flat."""
        for kind, pair in (("streams", reading.chain()), ("relations", reading.relations())):
            found = reading.against_flat(self._one, pair, self.repeats)
            self._note(f"a chain of views that are {kind}", found)

    def _many(self) -> None:
        """Fifty queries over one stream in one job, against the first of them alone."""
        queries = [PART.format(part=part) for part in range(QUERIES)]
        pairs = []
        for turn in range(self.repeats + 1):
            pair = self._one(queries[0]), self._one("".join(queries))
            if turn:
                pairs.append(pair)
        self._note(
            f"{QUERIES} queries in one job against one",
            {
                "one query, rows/s": middle([a.rate for a, _ in pairs]),
                f"{QUERIES} queries, rows/s": middle([b.rate for _, b in pairs]),
                "ratio": middle([b.rate / a.rate for a, b in pairs]),
                "target": 0.4,
            },
        )

    def _sharing(self) -> None:
        """A thousand queries with constants and periods of their own, and ten thousand."""
        found = sharing.through_spark(self.spark, self.repeats)
        self._note("sharing: 1,000 queries", found)
        self._note("sharing: in one process", sharing.together(self.repeats))
        self._note("sharing: 10,000 queries", sharing.registered())

    def _state(self) -> None:
        """Bytes of state written by a batch of 100,000 rows, for windows of many sizes."""
        data = make(self.folder, 2_000_000, 2)
        written = {}
        for seconds in (1, 10, 100, 1000):
            query = GROUPED.format(window=f"{seconds} Seconds")
            measured = ours(self.spark, {"bids": data}, query, 2_000_000, 100_000)
            bytes_each = [b.state_bytes for b in measured.batches[-6:-1]]
            written[f"window of {seconds * 1000:,} rows"] = int(middle(bytes_each))
        self._note("state bytes written by a batch of 100,000 rows", written)

    def _small(self, name: str, query: str) -> None:
        data = make(self.folder, 40 * SMALL, 1)
        measured = ours(self.spark, {"bids": data}, query, 40 * SMALL, SMALL)
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

    def _strategies(self) -> None:
        self.results["strategies"] = found = strategies.run(lambda: self.spark, turns=1)
        figures.write(found)

    def _note(self, name: str, values: dict[str, object]) -> None:
        self.results[name] = values
        show(name, values)


def show(name: str, values: dict[str, object]) -> None:
    table = Table(title=name, show_header=False, title_justify="left")
    for key, value in values.items():
        table.add_row(key, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
    Console(width=80).print(table)


def start_like_a_worker() -> None:
    """Begin again with the memory settings of workers, which count when a process starts."""
    if any(name not in os.environ for name in REUSED_MEMORY):
        words = [sys.executable, "-m", "bench", *sys.argv[1:]]
        os.execve(sys.executable, words, {**REUSED_MEMORY, **os.environ})


def main() -> None:
    start_like_a_worker()
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--folder", type=Path, default=Path("bench-out"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch-files", type=int, default=8, help="files of 1M rows per batch")
    parser.add_argument("--only", help="measurements with this word in their name")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.folder, options.repeats, options.batch_files, options.only)
    bench.run()
    target = options.folder / "results.json"
    known = json.loads(target.read_text()) if options.only and target.exists() else {}
    target.write_text(json.dumps({**known, **bench.results}, indent=2) + "\n")
    print(f"written to {target}")


if __name__ == "__main__":
    main()
