"""Scripts in which names are used before they are defined."""

from __future__ import annotations

import pytest

from millstream.bind.names.script_order import script_order
from millstream.database import Database
from millstream.lang import parse_script

STREAM = "CREATE STREAM s (t int, k int) ORDER BY t"
CASES = [
    (f"{STREAM}; SELECT k FROM s; SELECT t FROM s", [0, 1, 2]),
    (f"SELECT k FROM s; {STREAM}", [1, 0]),
    (
        f"SELECT k FROM v; SHOW; CREATE VIEW v AS SELECT k FROM w; {STREAM};"
        "CREATE VIEW w AS SELECT k FROM s [Now]",
        [3, 4, 2, 0, 1],
    ),
    (f"EXPLAIN v; CREATE VIEW v AS SELECT k FROM s; {STREAM}", [2, 1, 0]),
    (f"SELECT k FROM s.late; {STREAM}", [1, 0]),
    ("SELECT k FROM a WHERE k IN (SELECT k FROM b); CREATE VIEW b AS SELECT 1", [1, 0]),
    ("WITH v AS (SELECT k FROM s) SELECT k FROM v; CREATE VIEW v AS SELECT 1", [0, 1]),
    (
        "CREATE TABLE t (k int); SELECT k FROM t; INSERT INTO t VALUES (1);"
        "INSERT INTO t VALUES (2)",
        [0, 2, 3, 1],
    ),
    ("INSERT INTO t VALUES (1); SELECT k FROM t; CREATE TABLE t (k int)", [2, 0, 1]),
]


@pytest.mark.parametrize(("script", "order"), CASES, ids=[script for script, _ in CASES])
def test_order(script: str, order: list[int]) -> None:
    assert script_order(parse_script(script), set().__contains__) == order


def test_names_that_exist_are_not_looked_for() -> None:
    script = parse_script("SELECT k FROM v; CREATE VIEW v AS SELECT k FROM s")
    assert script_order(script, {"v"}.__contains__) == [0, 1]


def test_results_keep_their_names_and_order() -> None:
    database = Database()
    made = database.execute(f"SELECT k FROM v; {STREAM}; CREATE VIEW v AS SELECT k FROM s [Now]")
    made += database.execute("SELECT k FROM s [Now]")
    assert [query.name for query in made] == ["q1", "v", "q2"]
    assert list(database.queries) == ["q1", "v", "q2"]
