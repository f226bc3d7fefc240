"""What names stand for: joins with USING, aliases with columns, names of queries, odd windows."""

from __future__ import annotations

import pytest

from errors.cases import DATA, database
from errors.test_fuzz import DECLARED
from millstream.testing import run_script

ANSWERS = [
    (
        "SELECT item, name FROM bids [Rows 9] JOIN items USING (item) WHERE price > 1",
        [(1, "lamp"), (2, "chair")],
    ),
    ("SELECT * FROM ticks [Rows 1] t JOIN people p ON p.name = t.symbol", []),
    ("SELECT BIDS.Item FROM Bids [Rows 1]", [(2,)]),
    ("SELECT x.a, x.b FROM bids [Rows 1] x (a, b)", [(2, 3.0)]),
    (
        "WITH z (k, c) AS (SELECT symbol, count(*) FROM ticks [Rows 9] GROUP BY 1) "
        "SELECT c FROM z WHERE k = 'A'",
        [(3,)],
    ),
    (
        "SELECT item + 1 AS k, count(*) FROM bids [Rows 9] GROUP BY k HAVING count(*) > 1",
        [(2, 2), (3, 2)],
    ),
    (
        "SELECT symbol, count(*) FROM ticks [Rows 9] GROUP BY (symbol, symbol)",
        [(None, 1), ("A", 3), ("B", 1)],
    ),
    ("SELECT count(*) FROM ticks [Rows 9] HAVING count(*) > 100", []),
    ("SELECT count(*) FROM bids [Rows 9] WHERE NOT (item IN (1, NULL))", [(0,)]),
    ("SELECT count(*) FROM bids [Rows 9] WHERE item NOT BETWEEN 2 AND NULL", [(2,)]),
    ("SELECT NULL AS c, count(*) FROM ticks [Rows 9] GROUP BY NULL", [(None, 5)]),
    ('SELECT b."a-b" FROM (SELECT item AS "a-b" FROM bids [Rows 1]) b', [(2,)]),
    ('SELECT count(*) FROM bids [Rows 9] WHERE bidder = "Ann"', [(1,)]),
    ("SELECT count(*) FROM ticks [Rows 9223372036854775807]", [(5,)]),
    ("SELECT count(*) FROM ticks [Rows 2 Slide 9223372036854775807]", [(0,)]),
    ("SELECT symbol FROM ticks [Rows 9] GROUP BY symbol", [(None,), ("A",), ("B",)]),
    (
        "SELECT stddev(9007199254740993 + n) > 1, median(9007199254740993 + n) > 1 "
        "FROM ticks [Rows 9]",
        [(True, True)],
    ),
]


@pytest.mark.parametrize(("query", "rows"), ANSWERS, ids=[query for query, _ in ANSWERS])
def test_answer(query: str, rows: list[tuple[object, ...]]) -> None:
    people = "CREATE TABLE people (name string, born date) SOURCE 'people.csv'"
    result = run_script(";\n".join([*DECLARED, people, query]), DATA)["q1"]
    assert [tuple(row.values()) for row in result.to_pylist()] == rows


def test_bare_queries_leave_out_names_that_are_taken() -> None:
    fresh = database()
    fresh.execute("CREATE VIEW Q1 AS SELECT item FROM bids [Now]; SELECT item FROM bids [Now]")
    assert list(fresh.queries)[-2:] == ["Q1", "q2"]


def test_dropping() -> None:
    fresh = database()
    fresh.execute("SELECT item FROM bids [Now]; DROP QUERY Q1; DROP STREAM Cheap; DROP VIEW hot")
    fresh.execute("DROP STREAM bids; DROP TABLE items; DROP VIEW IF EXISTS hot")
    assert list(fresh.queries) == []
    assert sorted(fresh.catalog.entries) == ["clicks", "logins", "people", "ticks"]
