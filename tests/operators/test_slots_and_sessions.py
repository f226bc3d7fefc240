"""Slots and sessions over generated rows, against the SQL that people write for them elsewhere."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from millstream.database import Database
from millstream.testing.run import run_script

duckdb = pytest.importorskip("duckdb")

START = datetime(2024, 5, 1, 9, 58)
LAST = timedelta(days=2)
"""A last row so late that every slot and session of the others is complete, and its own is not."""

STREAM = (
    "CREATE STREAM clicks (ts timestamp, who string, n int) ORDER BY ts SLACK 5 Seconds "
    "SOURCE 'clicks.csv';\n"
)


@pytest.fixture(params=range(2))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Clicks of a few people, in bursts and with pauses, a little out of order."""
    chance = random.Random(request.param)
    now, lines = START, ["ts,who,n"]
    for _ in range(1500):
        pause = chance.choice((0, 0, 1, 2, 5, 20, 61, 90 if chance.random() < 0.2 else 3))
        now += timedelta(seconds=pause, microseconds=chance.choice((0, 0, 1, 500_000)))
        at = now - timedelta(seconds=chance.choice((0, 0, 0, 2, 4)))
        who = chance.choice(("ann", "bob", "cid", ""))
        lines.append(f"{at.isoformat(' ', 'microseconds')},{who},{chance.randrange(9)}")
    lines.append(f"{(now + LAST).isoformat(' ', 'microseconds')},ann,0")
    (tmp_path / "clicks.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def ours(folder: Path, query: str) -> list[tuple]:
    """The rows of a query, without the instants at which they were emitted."""
    settings = {"batch_rows": "100", "buckets": "3"}
    table = run_script(f"{STREAM}{query};", folder, settings)["q1"]
    return sorted(zip(*(column.to_pylist() for column in table.columns[1:])), key=repr)


def theirs(folder: Path, query: str) -> list[tuple]:
    """The rows of a query over all clicks but the last."""
    rows = duckdb.connect()
    rows.execute(
        "CREATE TABLE clicks AS SELECT ts, nullif(who, '') AS who, n FROM read_csv("
        f"'{folder}/clicks.csv', columns = {{'ts': 'TIMESTAMP', 'who': 'VARCHAR', 'n': 'BIGINT'}})"
    )
    rows.execute("DELETE FROM clicks WHERE ts = (SELECT max(ts) FROM clicks)")
    return sorted(rows.execute(query).fetchall(), key=repr)


@pytest.mark.parametrize(
    ("window", "length", "every", "offset"),
    [
        ("Tumble 1 Minute", 60, 60, 0),
        ("Tumble 7 Minutes Offset 90 Seconds", 420, 420, 90),
        ("Hop 5 Minutes Every 1 Minute", 300, 60, 0),
        ("Hop 100 Seconds Every 40 Seconds Offset 30 Seconds", 100, 40, 30),
        ("Hop 10 Seconds Every 1 Minute", 10, 60, 0),
    ],
)
def test_slots(folder: Path, window: str, length: int, every: int, offset: int) -> None:
    found = ours(
        folder,
        "SELECT Istream(window_start, window_end, who, count(*), sum(n)) "
        f"FROM clicks [{window}] GROUP BY window_start, window_end, who",
    )
    expected = theirs(
        folder,
        f"""
        WITH ends AS (
          SELECT TIMESTAMP '1970-01-01' + to_seconds(k * {every} + {offset}) AS e
          FROM (SELECT unnest(range((epoch(min(ts)) // {every} - 10)::BIGINT,
                                    (epoch(max(ts)) // {every} + 20)::BIGINT)) AS k FROM clicks))
        SELECT e - to_seconds({length}), e, who, count(*), sum(n)::BIGINT
        FROM clicks JOIN ends ON ts >= e - to_seconds({length}) AND ts < e
        GROUP BY e, who
        """,
    )
    assert found == expected and len(found) > 20


def test_tumbling_slots_are_time_buckets(folder: Path) -> None:
    found = ours(
        folder,
        "SELECT Istream(window_start, count(*)) FROM clicks [Tumble 5 Minutes] "
        "GROUP BY window_start",
    )
    bucket = "time_bucket(INTERVAL '5 minutes', ts, TIMESTAMP '1970-01-01')"
    assert found == theirs(folder, f"SELECT {bucket} AS b, count(*) FROM clicks GROUP BY b")


@pytest.mark.parametrize("by", ["who", ""])
@pytest.mark.parametrize("gap", [2, 60])
def test_sessions(folder: Path, by: str, gap: int) -> None:
    """Gaps and islands: a session begins where the row before it lies further back than the gap."""
    keys, partition = ("who, ", "PARTITION BY who") if by else ("", "")
    found = ours(
        folder,
        f"SELECT Istream({keys}window_start, window_end, count(*), sum(n)) FROM clicks "
        f"[{'Partition By who ' if by else ''}Session {gap} Seconds] "
        f"GROUP BY {keys}window_start, window_end",
    )
    expected = theirs(
        folder,
        f"""
        WITH marked AS (
          SELECT *, coalesce(ts - lag(ts) OVER ({partition} ORDER BY ts) > to_seconds({gap}), true)
            AS begins FROM clicks),
        numbered AS (
          SELECT *, sum(begins::INT) OVER ({partition} ORDER BY ts) AS session FROM marked)
        SELECT {keys}min(ts), max(ts), count(*), sum(n)::BIGINT
        FROM numbered GROUP BY {keys}session
        """,
    )
    assert found == expected and len(found) > 20


@pytest.mark.parametrize(
    ("window", "last", "end"),
    [
        ("Tumble 5", 9, 10),
        ("Tumble 5", 10, 15),
        ("Tumble 5 Offset 2", 10, 12),
        ("Hop 10 Every 5", 10, 20),
        ("Hop 10 Every 4", 10, 20),
        ("Hop 2 Every 5", 13, 15),
        ("Hop 2 Every 5", 11, 11),
        ("Session 5", 10, 16),
        ("Partition By k Session 0", 10, 11),
    ],
)
def test_when_the_last_rows_are_complete(window: str, last: int, end: int, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("t,k\n")
    database = Database(base=str(tmp_path), tell=lambda text: None)
    database.execute("CREATE STREAM s (t int, k int) ORDER BY t SOURCE 's.csv';")
    database.execute(f"CREATE VIEW v AS SELECT STREAMED k FROM s [{window}];")
    plan = database.queries["v"].plan
    while not plan.is_window:
        (plan,) = plan.inputs
    assert plan.closes(last) == end


@pytest.mark.slow
def test_sessions_of_more_partitions_than_a_table_holds(tmp_path: Path) -> None:
    """Over 32,768 partitions are an index, of which a step reads and writes what it touches."""
    chance = random.Random(5)
    times = sorted(chance.randrange(10**6) for _ in range(90_000))
    lines = [
        "ts,who,n",
        *(f"{t},{chance.randrange(40_000)},{t % 7}" for t in times),
        "9000000,-1,0",
    ]
    (tmp_path / "clicks.csv").write_text("\n".join(lines) + "\n")
    stream = "CREATE STREAM clicks (ts int, who int, n int) ORDER BY ts SOURCE 'clicks.csv';"
    script = f"""{stream}
      CREATE VIEW each AS SELECT Istream(who, window_start, window_end, count(*), sum(n))
        FROM clicks [Partition By who Session 100000] GROUP BY who, window_start, window_end;
      CREATE VIEW present AS SELECT count(*) AS clicks, sum(n) AS total
        FROM clicks [Partition By who Session 100000];"""
    results = run_script(script, tmp_path, {"batch_rows": "4000", "buckets": "1"})
    table = duckdb.connect()
    table.execute(f"CREATE TABLE clicks AS SELECT * FROM '{tmp_path}/clicks.csv' WHERE who >= 0")
    table.execute(
        """CREATE TABLE numbered AS SELECT *, sum(begins) OVER (PARTITION BY who ORDER BY ts) AS s
           FROM (SELECT *, coalesce((ts - lag(ts) OVER (PARTITION BY who ORDER BY ts)
                                     > 100000)::INT, 1) AS begins FROM clicks)"""
    )
    sessions = table.execute(
        "SELECT who, min(ts), max(ts), count(*), sum(n)::BIGINT FROM numbered GROUP BY who, s"
    ).fetchall()
    last = table.execute(
        """SELECT count(*), sum(n)::BIGINT
           FROM (SELECT *, max(s) OVER (PARTITION BY who) AS newest FROM numbered)
           WHERE s = newest"""
    ).fetchall()
    found = zip(*(column.to_pylist() for column in results["each"].columns[1:]))
    assert sorted(found) == sorted(sessions)
    assert [tuple(row.values()) for row in results["present"].to_pylist()] == last
