"""Patterns: what the optimized search saves, and patterns through Spark beside sums per item."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from tempfile import NamedTemporaryFile, TemporaryDirectory

import numpy as np
import pyarrow as pa

from bench.measure import Measured, middle
from millstream.algebra.changes import Changes
from millstream.algebra.node import walk
from millstream.algebra.time import Span
from millstream.database import Database
from millstream.engine.evaluation import read_scan
from millstream.engine.holdings import Holding
from millstream.engine.hot_keys import HotKeys
from millstream.engine.job import Job
from millstream.engine.level import Level
from millstream.engine.states import FileStates
from millstream.operators import Match
from millstream.patterns.scene import with_shifts
from millstream.patterns.sequence import Found, Sequence

SUM = "SELECT STREAMED item, sum(price) AS total FROM bids GROUP BY item;"
FALLS_AND_RISES = """
  WHERE A.price < A.previous.price AND B.price > B.previous.price
    AND C.price < C.previous.price AND D.price > D.previous.price"""
DOUBLE_BOTTOM = f"""
  SELECT X.price AS top, LAST(A).price AS low, LAST(C).price AS again, LAST(D).price AS back
  FROM bids PARTITION BY item AS (X, *A, *B, *C, *D, S) {FALLS_AND_RISES}
    AND S.price <= S.previous.price;"""
RECOGNIZED = """
  SELECT * FROM bids MATCH_RECOGNIZE (
    PARTITION BY item
    MEASURES X.price AS top, LAST(A.price) AS low, LAST(C.price) AS again, LAST(D.price) AS back
    PATTERN (X A+ B+ C+ D+ S)
    DEFINE A AS price < PREV(price), B AS price > PREV(price),
      C AS price < PREV(price), D AS price > PREV(price), S AS price <= PREV(price));"""
LONG_LEGS = (
    DOUBLE_BOTTOM[: -len(";")]
    + " AND count(*A) >= 5 AND count(*B) >= 5 AND count(*C) >= 5 AND count(*D) >= 5;"
)
SPELLINGS = {"sequence": DOUBLE_BOTTOM, "MATCH_RECOGNIZE": RECOGNIZED}
"""The double bottom: a fall, a rise, another fall and another rise, each as long as it lasts."""

SHAPES = {"double bottom": DOUBLE_BOTTOM, "double bottom, five prices a leg": LONG_LEGS}
PRICES, LEG, SHORT = 1_000_000, 100, 3
"""How many prices are searched; how long the legs of the saw are, and how long each fourth is."""

FEWER, SLOWER, OF_SUMS = 10.0, 1.05, 0.5
"""Targets: how many times fewer tests, how many times slower at most, and the part of the rate of
sums per item."""

STREAM = "CREATE STREAM bids (item bigint, price double, ts bigint) ORDER BY ts;"

Run = Callable[[str], Measured]


def walking(count: int) -> np.ndarray:
    """Prices that go up or down by a little, as by chance."""
    random = np.random.default_rng(7)
    return np.round(100 * np.exp(np.cumsum(random.normal(0, 0.01, count)) / 10), 2)


def saw(count: int) -> np.ndarray:
    """Prices in long falls and rises, but each second rise is short: just too short to match."""
    legs = [(-1, LEG), (1, LEG), (-1, LEG), (1, SHORT), (-1, LEG), (1, LEG), (-1, 1), (1, LEG)]
    steps = np.concatenate([np.full(n, sign) for sign, n in legs])
    return 10_000.0 + np.cumsum(np.resize(steps, count))


DATA = {"random walk": walking, "saw": saw}


def searched(turns: int) -> dict[str, dict[str, object]]:
    """The tests of the optimized search and of the naive one, and their CPU time, in turns."""
    found = {}
    for shape, text in SHAPES.items():
        for name, prices in DATA.items():
            found[f"{shape}, {name}"] = _both_ways(text, prices(PRICES), turns)
    return found


def _both_ways(text: str, prices: np.ndarray, turns: int) -> dict[str, object]:
    search, rows = _search_of(text), pa.record_batch({"price": prices})
    _, shifts = search.columns(())
    starts = np.array([0, len(prices)])
    rows = with_shifts(rows, starts, sorted(shifts))
    answers: dict[bool, Found] = {}
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(turns + 1):
        for skips in (True, False) if turn % 2 else (False, True):
            gc.collect()
            begun = time.process_time()
            answers[skips] = _find(search, rows, starts, skips)
            seconds[skips].append(time.process_time() - begun)
    quick, naive = answers[True], answers[False]
    assert np.array_equal(quick.matches, naive.matches)
    return {
        "prices": len(prices),
        "matches": len(quick.matches),
        "tests": quick.tests,
        "naive tests": naive.tests,
        "times fewer tests": naive.tests / quick.tests,
        "rows looked at again": quick.again,
        "naive rows looked at again": naive.again,
        "seconds": median(seconds[True][1:]),
        "naive seconds": median(seconds[False][1:]),
        "time of naive": median(
            a / b for a, b in zip(seconds[True][1:], seconds[False][1:], strict=True)
        ),
    }


def _search_of(text: str) -> Sequence:
    database = Database(tell=lambda notice: None)
    database.execute(STREAM)
    plan = database.query(text).plan
    (match,) = (node for node in walk(plan) if isinstance(node, Match))
    assert isinstance(match.search, Sequence)
    return match.search


def _find(search: Sequence, rows: pa.RecordBatch, starts: np.ndarray, skips: bool) -> Found:
    count = rows.num_rows
    return search.find(
        rows,
        starts,
        np.zeros(1, np.int64),
        np.arange(count),
        np.arange(count),
        search.empty_state(1),
        skips=skips,
        now=count,
    )


def beside_sums(run: Run, turns: int, warm_up: int = 1) -> dict[str, object]:
    """Both spellings through Spark beside our own sums per item, turn by turn."""
    every = {"sums": SUM, **SPELLINGS}
    rates: dict[str, list[float]] = {name: [] for name in every}
    for turn in range(turns + warm_up):
        for name in list(every)[:: 1 if turn % 2 else -1]:
            measured = run(every[name])
            if turn >= warm_up:
                rates[name].append(measured.rate)
    found: dict[str, object] = {f"{name} rows/s": middle(rate) for name, rate in rates.items()}
    for name in SPELLINGS:
        ratios = [a / b for a, b in zip(rates[name], rates["sums"], strict=True)]
        found[f"{name} : sums"] = middle(ratios)
    return {**found, "target": OF_SUMS}


@dataclass
class Fed:
    """The operators of a query, fed with batches in this process, their states in files."""

    job: Job
    folder: str
    now: int = 0
    batches: int = 0

    @staticmethod
    def of(text: str, folder: str) -> Fed:
        database = Database(tell=lambda notice: None)
        with NamedTemporaryFile("w", suffix=".csv") as unread:
            print("item,price,ts", file=unread, flush=True)
            database.execute(STREAM.replace(";", f" SOURCE '{unread.name}';"))
            database.execute(text)
            return Fed(database.job(), folder)

    def batch(self, item: np.ndarray, price: np.ndarray) -> tuple[float, int]:
        """The seconds of a step over so many bids more, reading and writing its state included; and
        the bytes written."""
        count, graph, store = len(item), self.job.graph, FileStates(self.folder)
        ts = np.arange(self.now, self.now + count)
        columns = pa.record_batch({"item": item, "price": price, "ts": ts})
        rows = Changes.elements(columns, ts, ts + 1)
        spans = dict.fromkeys(graph.nodes, Span(self.now - 1, self.now + count - 1, 0))
        given = {s: read_scan(s, rows) for s in graph.scans["bids"]}
        gc.collect()
        begun, before = time.perf_counter(), store.read(0, 0, self.batches - 1)
        level = Level(graph, 0, 1, spans, lambda name: before.get(name, {}), HotKeys())
        level.received |= given
        for exchange in graph.exchanges:
            level.received[exchange] = level.output(exchange.input)
        for root in graph.roots:
            level.output(root)
        after = {**before, **level.states}
        written = store.write(0, 0, self.batches, after, self.batches - 1)
        took = time.perf_counter() - begun
        self.now, self.batches = self.now + count, self.batches + 1
        return took, written

    def held(self) -> Holding:
        """What is kept after the last batch."""
        states = FileStates(self.folder).read(0, 0, self.batches - 1)
        return sum((Holding.of(part) for s in states.values() for part in s.values()), Holding())


def long_star() -> dict[str, object]:
    """What is kept while a star grows to a million tuples, in batches of 100,000."""
    found: dict[str, object] = {}
    with TemporaryDirectory() as folder:
        fed = Fed.of(DOUBLE_BOTTOM, folder)
        for tuples in range(100_000, 1_000_001, 100_000):
            prices = 2e6 - np.arange(tuples - 100_000, tuples)
            fed.batch(np.zeros(100_000, np.int64), prices)
            if tuples in (100_000, 500_000, 1_000_000):
                held = fed.held()
                found[f"{tuples:,} tuples: rows kept"] = held.rows
                found[f"{tuples:,} tuples: bytes kept"] = held.bytes
    return found


def open_attempts(rows: int = 1_000, turns: int = 15) -> dict[str, object]:
    """A batch of 1,000 rows while attempts are open in many partitions: what it takes, what it
    writes, beside the same batch while few are open."""
    found: dict[str, object] = {}
    for attempts in (100, 10_000, 100_000):
        with TemporaryDirectory() as folder:
            fed = Fed.of(DOUBLE_BOTTOM, folder)
            items = np.arange(attempts)
            for fall in range(3):
                fed.batch(items, np.full(attempts, 100.0 - fall))
            random = np.random.default_rng(7)
            steps = [
                fed.batch(random.integers(0, min(attempts, 10_000), rows), np.full(rows, 50.0 - at))
                for at in range(turns)
            ]
        name = f"{attempts:,} open attempts"
        found[f"{name}: ms per batch of {rows:,}"] = 1000 * median(took for took, _ in steps[2:])
        found[f"{name}: bytes written"] = median(written for _, written in steps[2:])
    return found
