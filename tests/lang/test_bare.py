"""Bare queries: names and expressions that stand for a SELECT, and what is none of them."""

from __future__ import annotations

import pytest

from millstream.errors import MillstreamError
from millstream.lang import parse_script, to_sql

MEANT = {
    "a UNION b": "SELECT * FROM a UNION SELECT * FROM b",
    "a UNION ALL b": "SELECT * FROM a UNION ALL SELECT * FROM b",
    "a EXCEPT b INTERSECT c": "SELECT * FROM a EXCEPT (SELECT * FROM b INTERSECT SELECT * FROM c)",
    '"a b" EXCEPT DISTINCT `c`': 'SELECT * FROM "a b" EXCEPT SELECT * FROM `c`',
    "a [Now] UNION b [Rows 2]": "SELECT * FROM a [NOW] UNION SELECT * FROM b [ROWS 2]",
    "bids.late UNION ALL x": "SELECT * FROM bids.late UNION ALL SELECT * FROM x",
    "(a) INTERSECT (b [Now])": "(SELECT * FROM a) INTERSECT (SELECT * FROM b [NOW])",
    "(a UNION b) EXCEPT SELECT x FROM c": (
        "(SELECT * FROM a UNION SELECT * FROM b) EXCEPT SELECT x FROM c"
    ),
    "TABLE a": "SELECT * FROM a",
    "TABLE a UNION ALL TABLE b ORDER BY x LIMIT 3": (
        "SELECT * FROM a UNION ALL SELECT * FROM b ORDER BY x LIMIT 3"
    ),
    "SELECT * FROM (a UNION b) x": "SELECT * FROM (SELECT * FROM a UNION SELECT * FROM b) AS x",
    "SELECT * FROM ((a) UNION b) x": (
        "SELECT * FROM (SELECT * FROM (a) UNION SELECT * FROM b) AS x"
    ),
    "SELECT y FROM s WHERE y IN (TABLE a)": "SELECT y FROM s WHERE y IN (SELECT * FROM a)",
    "Istream(a UNION b)": "ISTREAM(SELECT * FROM a UNION SELECT * FROM b)",
    "WITH q AS (TABLE a) q UNION b": (
        "WITH q AS (SELECT * FROM a) SELECT * FROM q UNION SELECT * FROM b"
    ),
    "CREATE VIEW v AS a UNION b": "CREATE VIEW v AS SELECT * FROM a UNION SELECT * FROM b",
    "EXPLAIN a UNION b": "EXPLAIN SELECT * FROM a UNION SELECT * FROM b",
    "show UNION tables": "SELECT * FROM show UNION SELECT * FROM tables",
    "(SELECT count(*) FROM a) * 1.0 / (SELECT count(*) FROM b)": (
        "SELECT (SELECT count(*) FROM a) * 1.0 / (SELECT count(*) FROM b)"
    ),
    "100 * (SELECT max(x) FROM a) AS share": "SELECT 100 * (SELECT max(x) FROM a) AS share",
    "coalesce((SELECT max(x) FROM a), 0)": "SELECT coalesce((SELECT max(x) FROM a), 0)",
    "NOT EXISTS (SELECT * FROM a)": "SELECT NOT EXISTS(SELECT * FROM a)",
    "CREATE VIEW v AS abs((SELECT max(x) FROM a))": (
        "CREATE VIEW v AS SELECT abs((SELECT max(x) FROM a))"
    ),
    "CREATE VIEW v AS -(SELECT max(x) FROM a)": "CREATE VIEW v AS SELECT -(SELECT max(x) FROM a)",
}
PLAIN = {
    "SELECT a.x FROM (a) UNION SELECT y FROM b": "SELECT a.x FROM (a) UNION SELECT y FROM b",
    "SELECT sum(table) FROM t": "SELECT sum(table) FROM t",
    "EXPLAIN (SELECT x FROM a)": "EXPLAIN SELECT x FROM a",
    "EXPLAIN BOUND (SELECT x FROM a) UNION b": (
        "EXPLAIN BOUND (SELECT x FROM a) UNION SELECT * FROM b"
    ),
    "CREATE VIEW v (y) AS (SELECT x FROM a)": "CREATE VIEW v (y) AS SELECT x FROM a",
    "INSERT INTO t VALUES ((SELECT 1))": "INSERT INTO t VALUES ((SELECT 1))",
    "SELECT x FROM s WHERE x IN (a, b)": "SELECT x FROM s WHERE x IN (a, b)",
    "(SELECT x FROM a) UNION (SELECT y FROM b)": "(SELECT x FROM a) UNION (SELECT y FROM b)",
}


@pytest.mark.parametrize("text", [*MEANT, *PLAIN])
def test_a_bare_query_is_the_select_it_stands_for(text):
    (statement,) = parse_script(text)
    wanted = {**MEANT, **PLAIN}[text]
    assert to_sql(statement) == wanted
    assert parse_script(wanted) == (statement,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bids", 'a statement cannot begin with "bids"'),
        ("a UNION ALL", "expected a query but the statement ends"),
        ("TABLE t (a)", 'expected a type after column "a" but found ")"'),
        ("TABLE", "expected a name but the statement ends"),
        ("VALUES ((SELECT 1))", "VALUES is not part of the language yet"),
        ("COPY (SELECT x FROM a) TO 'f'", "COPY is not part of the language"),
        ("1 + 2", 'a statement cannot begin with "1"'),
        ("a b UNION c", 'a statement cannot begin with "a"'),
    ],
)
def test_what_is_no_query_is_refused(text, message):
    with pytest.raises(MillstreamError) as caught:
        parse_script(text)
    assert caught.value.message == message
