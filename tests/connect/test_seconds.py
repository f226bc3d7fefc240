"""Streams ordered by an integer that counts a unit of time, read from files."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.errors import MillstreamError
from millstream.testing import run_script

NINE = 1714557600 - 3600
"""2024-05-01 09:00:00"""


def rows(table: pa.Table) -> list[tuple]:
    """Its rows; two columns may have the same name."""
    return list(zip(*(column.to_pylist() for column in table.columns)))


@pytest.mark.parametrize("batch", ["1", "3", "1000"])
def test_parquet_row_groups_side_by_side(tmp_path: Path, batch: str) -> None:
    """What is late does not depend on the cuts: statistics of row groups are in seconds, too."""
    times = [NINE, NINE + 60, NINE + 300, NINE + 280, NINE + 100, NINE + 301]
    table = pa.table({"t": times, "n": range(6)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    found = run_script(
        "CREATE STREAM s (t bigint, n int) ORDER BY t SECONDS SLACK 30 Seconds SOURCE 'x.parquet';"
        "SELECT STREAMED count(*) AS n FROM s [Range 4 Minutes]",
        tmp_path,
        {"batch_rows": batch},
    )
    nine = dt.datetime(2024, 5, 1, 9)
    after = [nine + dt.timedelta(seconds=s) for s in (0, 60, 240, 280, 300, 301)]
    micro = dt.timedelta(microseconds=1)
    assert rows(found["s.late"]) == [(nine + dt.timedelta(seconds=100), NINE + 100, 4)]
    assert rows(found["q1"]) == [
        ("+", after[0], 1),
        ("u", after[1], 2),
        ("u", after[2] + micro, 1),
        ("u", after[3], 2),
        ("u", after[4], 3),
        ("u", after[4] + micro, 2),
        ("u", after[5], 3),
    ]


@pytest.mark.parametrize("unit", ["", "SECONDS", "WEEKS"])
@pytest.mark.parametrize("batch", ["2", "1000"])
def test_a_row_group_with_a_time_too_far(tmp_path: Path, unit: str, batch: str) -> None:
    """A time that cannot be counted with is a bad row; it makes no other row late."""
    times = np.array([1, 2**62, 2, -(2**62), 3, 4, -(2**62), -(2**62), 5, 6], np.int64)
    pq.write_table(pa.table({"t": times}), tmp_path / "x.parquet", row_group_size=2)
    found = run_script(
        f"CREATE STREAM s (t bigint) ORDER BY t {unit} SOURCE 'x.parquet'; SELECT t FROM s",
        tmp_path,
        {"batch_rows": batch},
    )
    assert found["q1"].column("t").to_pylist() == [1, 2, 3, 4, 5, 6]
    assert found["s.errors"].column("seq").to_pylist() == [2, 4, 7, 8]
    assert "s.late" not in found or found["s.late"].num_rows == 0


def test_instants_around_0(tmp_path: Path) -> None:
    """Row groups that end at −5 and at 0: a row after them at −3 is late, however they are read."""
    pq.write_table(
        pa.table({"t": [-6, -5, -4, 0, -3, 1]}), tmp_path / "x.parquet", row_group_size=2
    )
    found = run_script(
        "CREATE STREAM s (t bigint) ORDER BY t SOURCE 'x.parquet'; SELECT t FROM s", tmp_path
    )
    assert found["s.late"].column("t").to_pylist() == [-3]


def test_heartbeats_of_json_lines(tmp_path: Path) -> None:
    """A bare number is in the unit of the column, a timestamp is one."""
    (tmp_path / "s.jsonl").write_text(
        '{"t": 10}\n{"$heartbeat": 20}\n{"t": 20}\n{"t": 21}\n'
        '{"$heartbeat": "1970-01-01 00:00:30"}\n{"t": 30}\n{"t": 31}\n'
        '{"$heartbeat": 999999999999999999}\n{"t": 32}\n'
    )
    found = run_script(
        "CREATE STREAM s (t int) ORDER BY t SECONDS SOURCE 's.jsonl'; SELECT t FROM s", tmp_path
    )
    assert found["q1"].column("t").to_pylist() == [10, 21, 31]
    assert found["s.late"].column("t").to_pylist() == [20, 30, 32]


def test_a_limit_ahead_has_a_unit(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("t\n10\n71\n70\n")
    found = run_script(
        "CREATE STREAM s (t int) ORDER BY t SECONDS SOURCE 's.csv' WITH (ahead = '1 minute');"
        "SELECT t FROM s",
        tmp_path,
    )
    assert found["q1"].column("t").to_pylist() == [10, 70]
    assert found["s.errors"].column("seq").to_pylist() == [2]


def test_a_table_whose_changes_have_seconds(tmp_path: Path) -> None:
    """It joins a stream of timestamps; its slack has a unit, and `ts` stays the integer it is."""
    (tmp_path / "b.csv").write_text("at,item\n1970-01-01 00:01:30,pen\n1970-01-01 00:03:00,pen\n")
    (tmp_path / "p.csv").write_text("op,ts,item,price\nc,60,pen,2\nu,120,pen,3\nu,100,pen,9\n")
    script = """
      CREATE STREAM b (at timestamp, item string) ORDER BY at SOURCE 'b.csv';
      CREATE TABLE p (item string, price int) KEY (item) NON RETROACTIVE SLACK 10 Seconds
        SOURCE 'p.csv' WITH (time = 'seconds');
      SELECT Istream(b.at, price) FROM b [Now] b, p WHERE b.item = p.item;
    """
    found = run_script(script, tmp_path)
    minutes = [dt.datetime(1970, 1, 1, 0, 1, 30), dt.datetime(1970, 1, 1, 0, 3)]
    assert rows(found["q1"]) == [(minutes[0], minutes[0], 2), (minutes[1], minutes[1], 3)]
    late = dt.datetime(1970, 1, 1, 0, 1, 40)
    assert rows(found["p.late"]) == [(late, "u", 100, "pen", 9)]
    own = script.replace("(item string, price int)", "(item string, price int, ts int)")
    assert rows(run_script(own, tmp_path)["q1"]) == rows(found["q1"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("(a int) WITH (time = 'seconds')", "has no source of changes"),
        ("(a int) SOURCE 'a.csv' WITH (time = 'milliseconds')", "has no source of changes"),
        ("(ts timestamp) SOURCE 'c.csv' WITH (time = 'seconds')", 'column "ts" is a timestamp'),
        ("(a int) SOURCE 'c.csv' WITH (time = 'weeks')", 'is "weeks", which does not exist'),
    ],
)
def test_a_table_without_changes_has_no_seconds(tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "c.csv").write_text("op,ts,a\n+,1,1\n")
    with pytest.raises(MillstreamError) as caught:
        run_script(f"CREATE TABLE t {table}", tmp_path)
    assert message in caught.value.message and caught.value.place is not None
