"""Queries inside blocks, from text to rows: their answers are those of DuckDB."""

from __future__ import annotations

import duckdb
import pytest

from blocks.feeding import Tuple, answer
from millstream.bind.blocks import routine_from_text
from millstream.blocks.general import GeneralMachine
from millstream.blocks.machine import Ending

TABLES = """
TABLE a(k int, v double, s string) AS VALUES
  (1, 2.5, 'x'), (2, NULL, 'y'), (3, 4.0, NULL), (1, 7.0, 'z'), (5, 1.0, 'x'), (3, 4.0, NULL);
TABLE b(k int, w int) AS VALUES (1, 10), (3, 30), (3, 31), (4, 40), (NULL, 50);
TABLE c(w int, t string) AS VALUES (10, 'ten'), (30, 'thirty'), (50, NULL);
"""
QUERIES = """
SELECT k, v, s FROM a
SELECT a.k, w, s FROM a, b WHERE a.k = b.k
SELECT a.k, w, s FROM a JOIN b ON a.k = b.k AND w > 10
SELECT k, w, s FROM a JOIN b USING (k)
SELECT k, w, s FROM a LEFT JOIN b USING (k)
SELECT k, w, s FROM a RIGHT JOIN b USING (k)
SELECT k, w, s FROM a FULL JOIN b USING (k)
SELECT k, w, s FROM a NATURAL JOIN b
SELECT a.k, b.w, t FROM a JOIN b ON a.k = b.k LEFT JOIN c ON b.w = c.w
SELECT a.k, b.w, t FROM a JOIN b ON a.k = b.k AND v > 3 RIGHT JOIN c ON b.w = c.w
SELECT a.k, b.w, t FROM a JOIN b ON a.k = b.k AND v > 3 FULL JOIN c ON b.w = c.w AND v < 5
SELECT x.k, y.k FROM a x CROSS JOIN b y WHERE x.k < y.k
SELECT k, count(*), sum(v), max(s) FROM a GROUP BY k
SELECT k % 2 AS odd, count(v), avg(v) FROM a GROUP BY k % 2 HAVING count(*) > 1
SELECT k AS n, count(*) FROM a GROUP BY n
SELECT k, count(*) FROM a GROUP BY 1
SELECT count(*), sum(v), min(s) FROM a WHERE k > 100
SELECT count(*) FROM a HAVING count(*) > 100
SELECT count(DISTINCT k), count(v) FILTER (WHERE k > 1), sum(DISTINCT v) FROM a
SELECT min(v) + max(v) * 2, count(*) - count(s) FROM a
SELECT DISTINCT k, v FROM a
SELECT k, s FROM a ORDER BY k DESC, s NULLS LAST LIMIT 3
SELECT k, v FROM a ORDER BY v DESC NULLS LAST, 1 LIMIT 2 OFFSET 1
SELECT k FROM a WHERE v = (SELECT max(v) FROM a)
SELECT k, (SELECT sum(w) FROM b WHERE b.k = a.k) FROM a
SELECT k FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k AND w > 10)
SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)
SELECT k FROM a WHERE k IN (SELECT k FROM b)
SELECT k FROM a WHERE k NOT IN (SELECT k FROM b)
SELECT k FROM a WHERE k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)
SELECT k FROM a WHERE v > ANY (SELECT w / 10 FROM b)
SELECT k FROM a WHERE v >= ALL (SELECT v FROM a WHERE v IS NOT NULL)
SELECT k, CASE WHEN v > 3 THEN 'dear' WHEN v IS NULL THEN 'none' ELSE 'cheap' END FROM a
SELECT k FROM a UNION SELECT k FROM b
SELECT k FROM a UNION ALL SELECT k FROM b
SELECT k FROM a INTERSECT SELECT k FROM b
SELECT k FROM a EXCEPT SELECT k FROM b
SELECT k, v FROM a UNION SELECT k, w FROM b ORDER BY 1 NULLS LAST, v NULLS LAST LIMIT 4
SELECT q.k, q.n FROM (SELECT k, count(*) AS n FROM a GROUP BY k) q WHERE n > 1
SELECT n, m FROM (SELECT k, v FROM a) AS q(n, m) WHERE m > 2
WITH q AS (SELECT k, v FROM a WHERE v > 2), r AS (SELECT k FROM q) SELECT k FROM r
SELECT k, sum(v) FROM a GROUP BY k HAVING sum(v) > (SELECT avg(v) FROM a)
SELECT k, (SELECT max(w) FROM b WHERE b.k = a.k) FROM a GROUP BY k
SELECT (SELECT count(*) FROM b) + (SELECT count(*) FROM c)
SELECT k FROM a WHERE (SELECT count(*) FROM b, c WHERE b.k = a.k AND c.w = b.w) > 0
SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE k = a.k AND w IN (SELECT w FROM c))
SELECT upper(s), length(s), coalesce(v, 0) FROM a WHERE s LIKE 'x%' OR k BETWEEN 2 AND 3
SELECT max(k) FROM a GROUP BY s HAVING count(*) = 1
SELECT k FROM a WHERE false
""".strip().splitlines()


def given(query: str, kinds: list[str]) -> list[tuple]:
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
    text = f"AGGREGATE f(x int) : ({columns}) {{ {TABLES} INSERT INTO RETURN {query}; }}"
    return answer(GeneralMachine(routine_from_text(text), Ending.NEVER), [Tuple(0, 0, (1,))])


def expected(query: str) -> tuple[list[str], list[tuple]]:
    """The answer of DuckDB, and the types of its columns as we call them."""
    known = duckdb.connect()
    for table in TABLES.strip().split(";")[:-1]:
        head, _, rows = table.strip().removeprefix("TABLE ").partition(" AS ")
        known.execute(f"CREATE TABLE {head}; INSERT INTO {head.partition('(')[0]} {rows}")
    found = known.execute(query)
    kinds = ["string" if d[1] == "VARCHAR" else "double" for d in found.description]
    return kinds, found.fetchall()


def plain(query: str, rows: list[tuple]) -> list[tuple]:
    """Rows whose numbers are of one type, in their order where the query gives one."""
    same = [tuple(float(c) if hasattr(c, "as_integer_ratio") else c for c in row) for row in rows]
    return same if "ORDER BY" in query else sorted(same, key=repr)


@pytest.mark.parametrize("query", QUERIES)
def test_the_answers_are_those_of_duckdb(query: str) -> None:
    kinds, rows = expected(query)
    assert plain(query, given(query, kinds)) == plain(query, rows)
