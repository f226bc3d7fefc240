"""INSERT, UPDATE and DELETE before a run: what a table begins with, and what changes when."""

from __future__ import annotations

import pytest

from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.testing import run_script

TABLE = "CREATE TABLE t (a int, b string) KEY (a);"
BAG = "CREATE TABLE t (a int, b string);"


def changes(script: str, **more) -> list[str]:
    """The changes of the table, as `op ts a b`."""
    results = run_script(f"{script} CREATE VIEW told AS SELECT STREAMED * FROM t;", **more)
    rows = results["told"].to_pylist()
    return [" ".join(str(v) for v in row.values() if v is not None) for row in rows]


def test_without_at_they_make_what_the_table_begins_with():
    script = TABLE + "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z');"
    script += "UPDATE t SET b = b || '!' WHERE a > 1; DELETE FROM t WHERE a = 3;"
    assert changes(script) == ["+ 0 1 x", "+ 0 2 y!"]


def test_the_order_of_time_counts_and_among_equals_that_of_writing():
    script = (
        TABLE
        + """
    UPDATE t SET b = b || 'c' AT 3;
    INSERT INTO t VALUES (1, 'a') AT 1;
    UPDATE t SET b = b || 'b' AT 2;
    UPDATE t SET b = b || 'd' AT 3;
    INSERT INTO t VALUES (2, 'late') AT 3;
    """
    )
    assert changes(script) == ["+ 1 1 a", "u 2 1 ab", "u 3 1 abcd", "+ 3 2 late"]


def test_a_statement_without_at_comes_before_all_others():
    script = TABLE + "UPDATE t SET b = 'y' AT 5; INSERT INTO t VALUES (1, 'x');"
    assert changes(script) == ["+ 5 1 y"]


@pytest.mark.parametrize("rows", ["1", "2", "1000"])
def test_a_row_replaces_the_one_of_its_key(rows):
    script = (
        TABLE
        + """
    INSERT INTO t VALUES (1, 'x'), (1, 'y') AT 1;
    INSERT INTO t VALUES (1, 'y') AT 2;
    UPDATE t SET a = 2 WHERE a = 1 AT 3;
    DELETE FROM t WHERE a = 7 AT 4;
    DELETE FROM t AT 5;
    """
    )
    told = ["+ 1 1 y", "- 3 1", "+ 3 2 y", "- 5 2"]
    assert changes(script, settings={"batch_rows": rows}) == told
    assert changes(script, settings={"batch_rows": rows, "buckets": "7"}, restart=True) == told


def test_without_a_key_rows_are_copies():
    script = (
        BAG
        + """
    INSERT INTO t VALUES (1, 'x'), (1, 'x');
    INSERT INTO t VALUES (1, 'x') AT 1;
    UPDATE t SET b = 'y' WHERE a = 1 AT 2;
    DELETE FROM t WHERE b = 'y' AT 3;
    """
    )
    assert changes(script) == ["+ 1 1 x"] * 3 + ["- 2 1 x"] * 3 + ["+ 2 1 y"] * 3 + ["- 3 1 y"] * 3


def test_timestamps():
    script = (
        TABLE
        + """
    INSERT INTO t VALUES (1, 'x') AT '2024-05-01 10:00:00';
    INSERT INTO t VALUES (1, 'y') AT TIMESTAMP '2024-05-01 10:00:00' + INTERVAL '1' MINUTE;
    INSERT INTO t VALUES (1, 'z') AT DATE '2024-05-02';
    """
    )
    assert changes(script) == [
        "+ 2024-05-01 10:00:00 1 x",
        "u 2024-05-01 10:01:00 1 y",
        "u 2024-05-02 00:00:00 1 z",
    ]


def test_columns_named_as_the_system_names_its_own():
    script = """
    CREATE TABLE t (op string, ts string) KEY (op);
    INSERT INTO t VALUES ('a', 'b') AT 1;
    CREATE VIEW told AS SELECT Istream(*) FROM t;
    """
    told = run_script(script)["told"]
    assert [column.to_pylist() for column in told.columns] == [[1], ["a"], ["b"]]


def test_a_file_changed_by_statements(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    script = (
        "CREATE TABLE t (a int, b string) KEY (a) SOURCE 't.csv'; DELETE FROM t WHERE a = 1 AT 4;"
    )
    assert changes(script, base=tmp_path) == ["+ 4 2 y"]


def test_beside_a_stream_the_table_is_there_from_the_first_element_on(tmp_path):
    (tmp_path / "s.csv").write_text("ts,a\n3,1\n5,1\n9,1\n")
    script = "CREATE STREAM s (ts int, a int) ORDER BY ts SOURCE 's.csv';" + TABLE
    script += """
    INSERT INTO t VALUES (1, 'x');
    INSERT INTO t VALUES (1, 'y') AT 5;
    CREATE VIEW told AS SELECT STREAMED s.ts AS at, b FROM s [Now], t WHERE s.a = t.a;
    """
    rows = [
        (r["op"], r["ts"], r["at"], r["b"])
        for r in run_script(script, tmp_path)["told"].to_pylist()
    ]
    assert rows == [
        ("+", 3, 3, "x"),
        ("-", 4, 3, "x"),
        ("+", 5, 5, "y"),
        ("-", 6, 5, "y"),
        ("+", 9, 9, "y"),
    ]


def test_a_table_that_queries_read_as_it_is_cannot_change_any_more():
    database = Database(tell=lambda text: None)
    database.execute(TABLE + "INSERT INTO t VALUES (1, 'x'); SELECT count(*) FROM t;")
    for statement in ("DELETE FROM t", "DELETE FROM t AT 5"):
        with pytest.raises(MillstreamError, match='table "t" is read by query "q1"'):
            database.execute(statement)


def test_one_that_changes_may_change_more():
    database = Database(tell=lambda text: None)
    database.execute(TABLE + "INSERT INTO t VALUES (1, 'x') AT 1; SELECT count(*) FROM t;")
    database.execute("DELETE FROM t AT 5")
    with pytest.raises(MillstreamError, match="is read by"):
        database.execute("DELETE FROM t")
    assert database.streams["t"].rows.column("op").to_pylist() == ["insert", "delete"]


def test_many_statements_are_carried_out_in_time():
    lines = [f"INSERT INTO t VALUES ({i % 50}, '{i}') AT {i};" for i in range(2000)]
    assert len(changes(TABLE + "\n".join(lines))) == 2000


def test_describe():
    told: list[str] = []
    database = Database(tell=told.append)
    database.execute(
        "CREATE TABLE t (a int, b string) KEY (a) NON RETROACTIVE SLACK 5 Seconds;"
        "INSERT INTO t VALUES (1, 'x'); DESCRIBE t; SHOW TABLES;"
    )
    assert told == [
        "table t\n  a  bigint\n  b  string\n  key: a\n  non retroactive\n"
        "  1 rows at the beginning\n  changed by statements; counts timestamps, in microseconds\n"
        "  slack 5000000",
        "table t",
    ]


@pytest.mark.parametrize(
    "query, told",
    [
        ("SELECT STREAMED a FROM t", True),
        ("SELECT STREAMED n FROM s [Range 5] WHERE n IN (SELECT a FROM t)", True),
        ("SELECT STREAMED n FROM s [Range 5], t WHERE n = a", False),
    ],
)
def test_a_table_that_meets_no_stream_is_retroactive_and_told_so(query: str, told: bool) -> None:
    database = Database(tell=lambda text: None)
    (bound,) = database.execute(
        "CREATE TABLE t (a int) NON RETROACTIVE WITH (time = 'integer');"
        f"CREATE STREAM s (ts int, n int) ORDER BY ts; {query};"
    )
    assert any("stands without a stream" in n.message for n in bound.notices) == told
