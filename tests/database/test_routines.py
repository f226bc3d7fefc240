"""Aggregates and functions of one's own, by name: side by side, replaced, dropped, shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.database import Database
from millstream.database.checking import check_script
from millstream.database.contents import Contents
from millstream.errors import MillstreamError

PLUS = "AGGREGATE plus(x int) : int { INSERT INTO RETURN VALUES (x + 1); }"
USER = "AGGREGATE user(x int) : int { TABLE t(n int); INSERT INTO RETURN SELECT plus(n) FROM t; }"
WINDOW = "WINDOW AGGREGATE plus(x int) : int { TABLE inwindow(w); "
WINDOW += "INSERT INTO RETURN SELECT plus(w) FROM inwindow; }"
FUNCTION = "FUNCTION kids(n int) : (kid int) { INSERT INTO RETURN VALUES (n + 1); }"


def defined(*script: str) -> tuple[Database, list[str]]:
    told: list[str] = []
    database = Database(tell=told.append)
    database.execute(" ".join(script))
    return database, told


def test_definitions_stand_anywhere_in_a_script() -> None:
    database, _ = defined(USER, PLUS)
    assert database.catalog.routine("user()").calls.keys() == {"plus"}


def test_a_base_and_a_window_version_stand_side_by_side() -> None:
    database, _ = defined(PLUS, WINDOW)
    base, window = (database.catalog.routine(key) for key in ("plus()", "plus() over"))
    assert window.is_window and window.calls == {"plus": base}


@pytest.mark.parametrize("again", [PLUS, WINDOW, FUNCTION])
def test_a_name_is_defined_once(again: str) -> None:
    database, _ = defined(PLUS, WINDOW, FUNCTION)
    with pytest.raises(MillstreamError, match="exists already"):
        database.execute(again)


def test_who_calls_a_replaced_one_is_bound_again() -> None:
    database, _ = defined(PLUS, USER, WINDOW)
    before = database.catalog.routine("user()")
    database.execute("CREATE OR REPLACE " + PLUS.replace("x + 1", "x + 2"))
    after = database.catalog.routine("user()")
    assert after != before and after.calls["plus"] == database.catalog.routine("plus()")
    assert database.catalog.routine("plus() over").calls["plus"] == after.calls["plus"]


def test_a_replacement_that_a_caller_does_not_fit_changes_nothing() -> None:
    database, _ = defined(PLUS, USER)
    before = database.catalog.routine("plus()")
    wider = "CREATE OR REPLACE " + PLUS.replace("(x int)", "(x int, y int)")
    with pytest.raises(MillstreamError) as caught:
        database.execute(wider)
    assert caught.value.message == (
        'aggregate "plus" cannot be replaced: aggregate "user" reads it, and does not fit'
    )
    assert database.catalog.routine("plus()") == before
    database.execute(wider + "; CREATE OR REPLACE " + USER.replace("plus(n)", "plus(n, n)"))
    assert len(database.catalog.routine("plus()").arguments) == 2


def test_an_equal_definition_changes_nothing() -> None:
    database, _ = defined(PLUS, USER)
    user = database.catalog.routine("user()")
    database.execute("CREATE OR REPLACE " + PLUS)
    assert database.catalog.routine("user()") is user


def test_a_script_with_a_mistake_defines_nothing() -> None:
    database, _ = defined(PLUS)
    with pytest.raises(MillstreamError):
        database.execute(FUNCTION + "; " + PLUS)
    assert database.catalog.routine("kids()") is None


def test_drop() -> None:
    database, _ = defined(PLUS, WINDOW, FUNCTION)
    database.execute("DROP WINDOW AGGREGATE plus; DROP FUNCTION kids")
    assert [key for key in ("plus()", "plus() over", "kids()") if database.catalog.knows(key)] == [
        "plus()"
    ]
    database.execute(WINDOW + " DROP AGGREGATE plus; DROP AGGREGATE IF EXISTS plus")
    assert not database.catalog.routines and not database.catalog.reads.get("plus() over")


def test_a_table_that_a_block_reads_stays() -> None:
    database, _ = defined("CREATE TABLE t (n int); INSERT INTO t VALUES (1)")
    database.execute("AGGREGATE f(x int) : int { INSERT INTO RETURN SELECT n FROM t; }")
    with pytest.raises(MillstreamError, match='table "t" is used by aggregate "f"'):
        database.execute("DROP TABLE t")


def test_a_routine_may_be_called_like_a_stream() -> None:
    database, _ = defined("CREATE STREAM plus (n int)", ";", PLUS, USER)
    database.execute("DROP STREAM plus")
    assert database.catalog.routine("plus()") is not None


def test_what_there_is_can_be_shown() -> None:
    database, told = defined(PLUS, WINDOW, FUNCTION)
    database.execute("SHOW AGGREGATES LIKE 'plus'; SHOW FUNCTIONS LIKE 'kids'; SHOW")
    assert told[0].splitlines() == [
        "aggregate plus(x bigint) : bigint",
        "window aggregate plus(x bigint) : bigint",
    ]
    assert told[1] == "function kids(n bigint) : (kid bigint)"
    assert told[2].splitlines()[:3] == [*told[0].splitlines(), told[1]]
    database.execute("DESCRIBE FUNCTION plus; DESCRIBE kids")
    assert told[3].splitlines()[:2] == ["aggregate plus(x bigint) : bigint", "  not blocking"]
    assert told[4].splitlines()[1].startswith("  CREATE FUNCTION kids(n int) : (kid int) {")


def test_a_file_is_loaded_into_a_table(tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("n,name\n2,lamp\n3,\n")
    database = Database(base=str(tmp_path), tell=lambda text: None)
    database.execute("CREATE TABLE t (n int, name string); INSERT INTO t VALUES (1, 'vase')")
    database.execute("LOAD FROM 'more.csv' INTO t")
    rows = database.catalog.find("t").content.rows.to_pydict()
    assert rows == {"n": [1, 2, 3], "name": ["vase", "lamp", None]}


def test_checking_a_script_tells_what_authors_of_blocks_should_know() -> None:
    script = PLUS + "AGGREGATE f(n int) : int { TABLE t(n int); UPDATE t SET n = n; SELECT 1 }"
    script += "AGGREGATE g(n int) : int { TABLE t(n int); UPDATE t SET n = n; }"
    found = check_script(script, Contents(), ".").findings
    assert [f.is_error for f in found] == [True, False]
    assert found[1].about.message.startswith('g: "n" in line 1 is the argument of aggregate "g"')


def test_explain_shows_the_tree_and_what_runs_it() -> None:
    texts = "AGGREGATE joined(s string) : string { TABLE t(s string); "
    texts += "INSERT INTO RETURN SELECT upper(max(t.s)) FROM t GROUP BY t.s; }"
    database, told = defined(PLUS, WINDOW, texts)
    database.execute("EXPLAIN AGGREGATE plus; EXPLAIN AGGREGATE joined")
    native, general = told
    assert native.splitlines()[:3] == [
        "-- aggregate plus, not blocking, native",
        "aggregate plus",
        "window False algebraic False",
    ]
    assert "def " in native and "-- window aggregate plus" in native
    assert general.startswith("-- aggregate joined, not blocking, general path: ")
    with pytest.raises(MillstreamError, match='aggregate "plu" is not one of your own') as caught:
        database.execute("EXPLAIN AGGREGATE plu")
    assert caught.value.hint == 'Did you mean "plus"?'


CALLING = (
    "CREATE STREAM s (t int, n int) ORDER BY t; CREATE VIEW v AS SELECT t, plus(n) AS m FROM s;"
)


def test_a_query_that_calls_a_replaced_one_is_bound_again() -> None:
    database, _ = defined(PLUS, CALLING)
    before = database.queries["v"].plan
    with pytest.raises(MillstreamError, match='aggregate "plus" is used by view "v"'):
        database.execute("DROP AGGREGATE plus")
    database.execute("CREATE OR REPLACE " + PLUS.replace("x + 1", "x + 2"))
    assert database.queries["v"].plan != before
    wider = "CREATE OR REPLACE " + PLUS.replace("(x int)", "(x int, y int)")
    with pytest.raises(MillstreamError) as caught:
        database.execute(wider)
    assert caught.value.message == (
        'aggregate "plus" cannot be replaced: view "v" reads it, and does not fit'
    )
    database.execute("DROP VIEW v; DROP AGGREGATE plus")
