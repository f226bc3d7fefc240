"""NEXMark: at sampled instants, the answers are those of DuckDB over the same rows as a batch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from types import SimpleNamespace

import pyarrow as pa
import pytest

import millstream.local.host
from docs.examples import ROOT
from examples.nexmark_batch import ARRIVALS, BATCH
from examples.replay import EPOCH, Replay
from millstream.database import Database
from millstream.testing import run_script
from oracle.compare import leftovers
from spark.running import run_on_spark

duckdb = pytest.importorskip("duckdb", reason="the answers are compared with those of DuckDB")

FOLDER = ROOT / "examples" / "nexmark"
SCRIPT = (FOLDER / "nexmark.sql").read_text(encoding="utf-8")
BY_ARRIVAL = (FOLDER / "arrivals.sql").read_text(encoding="utf-8")
SECOND = 1_000_000
SETTINGS = [
    pytest.param({}, id="default"),
    pytest.param({"batch_rows": "300", "buckets": "7"}, id="seven buckets", marks=pytest.mark.slow),
    pytest.param({"batch_rows": "900", "rules": "off"}, id="as written", marks=pytest.mark.slow),
]
SAMPLES = 20
ON_SPARK = ("local_items", "category_prices", "highest_bids")


def session_of(script: str) -> Database:
    session = Database(base=str(FOLDER), tell=lambda text: None)
    session.execute(script)
    return session


def rows_of(session: Database) -> dict[str, pa.Table]:
    """All rows of the generated streams."""
    tables = {}
    for name, source in session.sources(follow=False).items():
        slices, _, _ = source.plan(source.start(), 1_000_000)
        batches = [source.read(piece, source.schema.names).rows for piece in slices]
        tables[name] = pa.Table.from_batches(batches, source.schema)
    return tables


def database(tables: dict[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name, table in tables.items():
        connection.register(f"arrow_{name}", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_{name}")
    return connection


def instants(tables: dict[str, pa.Table]) -> list[int]:
    """Sampled ones, and some at which rows come, windows end, and slots begin."""
    draw = random.Random(3)
    bids = tables["bids"]["ts"].cast(pa.int64()).to_pylist()
    closings = tables["closings"]["expires"].cast(pa.int64()).to_pylist()
    first, last = min(bids), max(closings)
    chosen = [draw.randint(first, last) for _ in range(SAMPLES - 12)]
    chosen += draw.sample(bids, 2) + draw.sample(closings, 4)
    chosen += [draw.choice(bids) + length for length in (12 * SECOND, 12 * SECOND + 1)]
    chosen += [draw.choice(bids) // (10 * SECOND) * 10 * SECOND + edge for edge in (-1, 0)]
    return sorted([*chosen, first, last])


def check(
    session: Database,
    results: dict[str, pa.Table],
    name: str,
    connection: duckdb.DuckDBPyConnection,
    query: str,
    moments: list[int],
) -> None:
    """The relation is the same at every moment, and not always empty."""
    replay = Replay(session.queries[name], results.get(f"{name}.changes", results[name]))
    seen = 0
    for moment in moments:
        time = EPOCH + timedelta(microseconds=moment)
        expected = connection.execute(query, {"t": time}).fetchall()
        missing, extra = leftovers(expected, replay.at(moment), 1e-9)
        assert not missing and not extra, f"{name} at {time}: missing {missing}, extra {extra}"
        seen += bool(expected)
    assert len(moments) == SAMPLES and seen >= SAMPLES // 2


@pytest.fixture(scope="module")
def session() -> Database:
    return session_of(SCRIPT)


@pytest.fixture(scope="module")
def tables(session: Database) -> dict[str, pa.Table]:
    """What the streams bring; the auctions with their expiry, which the closings tell."""
    found = rows_of(session)
    expires = found["closings"]["expires"]
    return {**found, "auctions": found["auctions"].append_column("expires", expires)}


@pytest.fixture(scope="module")
def connection(tables: dict[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    return database(tables)


@pytest.fixture(scope="module", params=SETTINGS)
def results(request: pytest.FixtureRequest) -> dict[str, pa.Table]:
    return run_script(SCRIPT, FOLDER, request.param)


@pytest.fixture(scope="module")
def results_on_spark(spark) -> dict[str, pa.Table]:
    """Of the views that are compared there, and `sold`, which one of them rests on."""
    others = [name for name in BATCH if name not in (*ON_SPARK, "sold")]
    script = SCRIPT + "".join(f"DROP VIEW {name};\n" for name in others)
    return run_on_spark(spark, script, FOLDER, {"batch_rows": "2000"})


def test_every_query_is_compared(session: Database) -> None:
    assert set(session.queries) == set(BATCH)


@pytest.mark.parametrize("name", BATCH)
def test_the_answers_are_those_of_a_batch(session, tables, connection, results, name) -> None:
    check(session, results, name, connection, BATCH[name], instants(tables))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", ON_SPARK)
def test_the_same_on_spark(session, tables, connection, results_on_spark, name) -> None:
    check(session, results_on_spark, name, connection, BATCH[name], instants(tables))


def wall_clock() -> Iterator[int]:
    """The nanoseconds of a clock that is looked at every 130 milliseconds."""
    return count(1_704_067_200_000_000_000, 130_000_000)


@pytest.mark.parametrize("batch", [50, 170])
def test_windows_by_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    clock = wall_clock()
    fake = SimpleNamespace(time_ns=lambda: next(clock), sleep=lambda seconds: None)
    monkeypatch.setattr(millstream.local.host, "time", fake)
    results = run_script(BY_ARRIVAL, FOLDER, {"batch_rows": str(batch)})
    session = session_of(BY_ARRIVAL)
    events = arriving(rows_of(session)["events"], batch)
    stamps = sorted(set(events["arrived"].cast(pa.int64()).to_pylist()))
    draw = random.Random(5)
    moments = [draw.randint(stamps[0], stamps[-1]) for _ in range(SAMPLES - 5)]
    moments += [*draw.sample(stamps, 3), stamps[0] + 2 * SECOND, stamps[0] + 2 * SECOND + 1]
    for name, query in ARRIVALS.items():
        check(session, results, name, database({"events": events}), query, sorted(moments))


def arriving(table: pa.Table, batch: int) -> pa.Table:
    """The rows with the moments at which they arrive: so many in every batch."""
    clock = wall_clock()
    times = [next(clock) // 1000 for _ in range(len(table) // batch + 1)]
    arrived = [times[row // batch] for row in range(len(table))]
    return table.append_column("arrived", pa.array(arrived, pa.timestamp("us")))
