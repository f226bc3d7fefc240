"""Tables whose source holds changes: formats, times, late and bad changes, restarts."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.testing import run_script

CHANGES = [
    ("insert", 1, "pen", 10),
    ("+", 1, "ink", 5),
    ("u", 3, "pen", 11),
    ("drop", 4, "pen", 12),
    ("D", 5, "ink", None),
    ("i", 2, "cup", 1),
    ("Update", 5, "pot", 7),
]
TOLD = ["+ 1 ink 5", "+ 1 pen 10", "u 3 pen 11", "- 5 ink", "+ 5 pot 7"]


def write(folder, ending: str, rows: list[tuple], times: bool) -> str:
    table = pa.table(
        {
            "op": pa.array([r[0] for r in rows], pa.string()),
            "ts": pa.array([r[1] for r in rows], pa.int64()),
            "Item": pa.array([r[2] for r in rows], pa.string()),
            "price": pa.array([r[3] for r in rows], pa.int32()),
        }
    )
    if times:
        micros = pa.array([r[1] * 1_000_000 for r in rows], pa.timestamp("us"))
        table = table.set_column(1, "ts", micros)
    path = folder / f"changes.{ending}"
    if ending == "parquet":
        pq.write_table(table, path, row_group_size=2)
    elif ending == "jsonl":
        import json

        path.write_text("".join(json.dumps(r, default=str) + "\n" for r in table.to_pylist()))
    else:
        lines = [
            ",".join("" if v is None else str(v) for v in r.values()) for r in table.to_pylist()
        ]
        path.write_text("\n".join(["op,ts,item,price", *lines]) + "\n")
    return path.name


def told(results: dict) -> list[str]:
    rows = results["told"].to_pylist()
    return [" ".join(str(v) for v in row.values() if v is not None) for row in rows]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("rows", ["1", "3", "1000000"])
def test_all_formats_and_cuts(tmp_path, ending, rows):
    name = write(tmp_path, ending, CHANGES, times=False)
    script = f"""
    CREATE TABLE prices (item string, price int) KEY (item) SOURCE '{name}';
    CREATE VIEW told AS SELECT STREAMED * FROM prices;
    SELECT op, item FROM prices.late;
    SELECT seq, reason FROM prices.errors;
    """
    for restart in (False, True):
        results = run_script(script, tmp_path, {"batch_rows": rows, "buckets": "3"}, restart)
        assert told(results) == TOLD
        late = [(r["ts"], r["op"]) for r in results["prices.late"].to_pylist()]
        assert late == [(2, "i")]
        assert results["q1"].to_pylist() == [{"ts": 6, "op": "i", "item": "cup"}]
        (error,) = results["q2"].to_pylist()
        assert (error["seq"], "drop" in error["reason"]) == (4, True)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_timestamps_are_seen_from_the_values(tmp_path, ending):
    name = write(tmp_path, ending, CHANGES[:3], times=True)
    script = f"""
    CREATE TABLE prices (item string, price int) KEY (item) SLACK 5 Seconds SOURCE '{name}';
    CREATE VIEW told AS SELECT STREAMED * FROM prices;
    """
    assert told(run_script(script, tmp_path))[-1] == "u 1970-01-01 00:00:03 pen 11"


def test_slack_lets_changes_come_out_of_order(tmp_path):
    name = write(tmp_path, "csv", CHANGES, times=False)
    script = f"""
    CREATE TABLE prices (item string, price int) KEY (item) SLACK 3 SOURCE '{name}';
    CREATE VIEW told AS SELECT STREAMED * FROM prices;
    """
    results = run_script(script, tmp_path, {"batch_rows": "2"})
    assert told(results) == [*TOLD[:2], "+ 2 cup 1", *TOLD[2:]]
    assert results["prices.late"].num_rows == 0


def test_ts_may_be_a_column_of_the_table(tmp_path):
    name = write(tmp_path, "csv", CHANGES[:3], times=False)
    script = f"""
    CREATE TABLE prices (ts int, item string) KEY (item) SOURCE '{name}';
    SELECT Istream(item, ts) FROM prices;
    """
    rows = [tuple(r.values()) for r in run_script(script, tmp_path)["q1"].to_pylist()]
    assert len(rows) == 3


def test_a_table_with_a_column_op_is_loaded_as_it_stands(tmp_path):
    name = write(tmp_path, "csv", CHANGES, times=False)
    script = f"CREATE TABLE t (op string, ts int) SOURCE '{name}'; SELECT count(*) AS n FROM t;"
    assert run_script(script, tmp_path)["q1"].to_pylist() == [{"n": 7}]


def test_a_source_without_changes_yet(tmp_path):
    (tmp_path / "changes.csv").write_text("op,ts,item,price\n")
    (tmp_path / "s.csv").write_text("ts,item\n1,pen\n")
    script = """
    CREATE STREAM s (ts int, item string) ORDER BY ts SOURCE 's.csv';
    CREATE TABLE prices (item string, price int) WITH (time = 'integer') SOURCE 'changes.csv';
    SELECT Istream(s.item, price) FROM s LEFT JOIN prices ON s.item = prices.item;
    """
    rows = run_script(script, tmp_path)["q1"].to_pylist()
    assert rows == [{"ts": 1, "item": "pen", "price": None}]


def test_without_a_key_updates_are_bad(tmp_path):
    name = write(tmp_path, "csv", CHANGES[:3], times=False)
    script = f"CREATE TABLE prices (item string, price int) SOURCE '{name}'; SELECT * FROM prices;"
    results = run_script(script, tmp_path)
    assert results["q1"].num_rows == 2
    (error,) = results["prices.errors"].to_pylist()
    assert error["reason"] == "an update needs a KEY, and the table has none"


def test_late_and_bad_changes_are_told_even_if_nobody_reads_the_table(tmp_path):
    name = write(tmp_path, "csv", CHANGES, times=False)
    script = f"CREATE TABLE prices (item string, price int) KEY (item) SOURCE '{name}';"
    results = run_script(script, tmp_path)
    assert (results["prices.late"].num_rows, results["prices.errors"].num_rows) == (1, 1)


def test_a_table_that_has_ended_does_not_hold_back_its_stream(tmp_path):
    name = write(tmp_path, "csv", CHANGES[:2], times=False)
    (tmp_path / "s.csv").write_text("ts,item\n" + "".join(f"{i},pen\n" for i in range(1, 101)))
    script = f"""
    CREATE STREAM s (ts int, item string) ORDER BY ts SOURCE 's.csv';
    CREATE TABLE prices (item string, price int) KEY (item) SOURCE '{name}';
    SELECT Istream(s.ts, price) FROM s, prices WHERE s.item = prices.item;
    """
    assert run_script(script, tmp_path, {"batch_rows": "7"})["q1"].num_rows == 100
