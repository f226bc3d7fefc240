"""Canonical text parses again to an equal tree, and canonical text is a fixed point."""

import pytest

from millstream.lang import parse_script, to_sql

CASES = [
    ("select rstream(*) from bids[now]", "SELECT RSTREAM(*) FROM bids [NOW]"),
    (
        "SELECT Istream(a, b AS c) FROM bids [Range 5 Minutes] b WHERE a == 3 and x != 'q'",
        "SELECT ISTREAM(a, b AS c) FROM bids [RANGE 5 MINUTES] AS b WHERE a = 3 AND x <> 'q'",
    ),
    (
        "SELECT Dstream(DISTINCT x) FROM bids AS b [Rows 5 Slide 2]",
        "SELECT DSTREAM(DISTINCT x) FROM bids [ROWS 5 SLIDE 2] AS b",
    ),
    (
        'SELECT b.* FROM "hot-items" b [Partition By a, b.c Rows 3 Range 1 Hour 30 Minutes]',
        'SELECT b.* FROM "hot-items" [PARTITION BY a, b.c ROWS 3 RANGE 90 MINUTES] AS b',
    ),
    (
        "SELECT * FROM s [Tumble 1 hour offset 5 Minutes], t [Hop 10 Every 5 Offset 2] b",
        "SELECT * FROM s [TUMBLE 1 HOUR OFFSET 5 MINUTES], t [HOP 10 EVERY 5 OFFSET 2] AS b",
    ),
    (
        "SELECT * FROM s [session 90 seconds], t [Partition By a, t.b Session 5], u [Tumble 3]",
        "SELECT * FROM s [SESSION 90 SECONDS], t [PARTITION BY a, t.b SESSION 5], u [TUMBLE 3]",
    ),
    (
        "SELECT a mod 2 * b, mod(a, 2), x.mod mod FROM s mod",
        "SELECT a % 2 * b, a % 2, x.mod AS mod FROM s AS mod",
    ),
    (
        "SELECT a + n minutes, a - m hours AS b, (a + n day) FROM s WHERE a > b + n seconds",
        "SELECT a + n AS minutes, a - m * INTERVAL '1' HOUR AS b, (a + n * INTERVAL '1' DAY) FROM s"
        " WHERE a > b + n * INTERVAL '1' SECOND",
    ),
    (
        "stream s (a, b int) order by a source 'x.csv'",
        "CREATE STREAM s (a, b int) ORDER BY a SOURCE 'x.csv'",
    ),
    ("table t (a, b) source 'x.csv'", "CREATE TABLE t (a, b) SOURCE 'x.csv'"),
    ("table t (a int) key (a)", "CREATE TABLE t (a int) KEY (a)"),
    ("SELECT * FROM ℜ(s) x, r(t.late)", "SELECT * FROM R(s) AS x, R(t.late)"),
    (
        'SELECT * FROM ℜ_minutes(s) AS x (a), R (t, "two words") [Now]',
        'SELECT * FROM R(s, minutes) AS x(a), R(t, "two words") [NOW]',
    ),
    ("SELECT ℜ(s).a, R(t).* FROM R(s), R(t) u", "SELECT s.a, t.* FROM R(s), R(t) AS u"),
    (
        "register source temps (char room, int degrees) from port5501",
        "REGISTER SOURCE temps (room string, degrees int) FROM port5501",
    ),
    (
        "REGISTER SOURCE x (t int, double precision y, decimal(9,2) p, varchar(3) n, note string, "
        "date date) source 'a.csv' order by t seconds slack 3 with (ahead = '3')",
        "REGISTER SOURCE x (t int, y double, p decimal(9,2), n varchar(3), note string, date date)"
        " ORDER BY t SECONDS SLACK 3 FROM 'a.csv' WITH ('ahead' = '3')",
    ),
    ("create stream a over b key null", "CREATE STREAM a OVER b KEY NULL"),
    (
        "create or replace stream a over b key x, y",
        "CREATE OR REPLACE STREAM a OVER b KEY (x, y)",
    ),
    ("create streamed view v as select 1 from s", "CREATE STREAMED VIEW v AS SELECT 1 FROM s"),
    (
        "create or replace complete view v (a) as select 1 from s",
        "CREATE OR REPLACE COMPLETE VIEW v (a) AS SELECT 1 FROM s",
    ),
    ("Istream(SELECT a FROM s [Now])", "ISTREAM(SELECT a FROM s [NOW])"),
    (
        "Istream(SELECT a FROM s UNION ALL SELECT b FROM t)",
        "ISTREAM(SELECT a FROM s UNION ALL SELECT b FROM t)",
    ),
    (
        "SELECT x.a FROM (Istream(SELECT a FROM s)) [Range 5 Seconds] AS x",
        "SELECT x.a FROM (ISTREAM(SELECT a FROM s)) [RANGE 5 SECONDS] AS x",
    ),
    (
        "SELECT x.a FROM Istream(SELECT a FROM s) x [Rows 3]",
        "SELECT x.a FROM (ISTREAM(SELECT a FROM s)) [ROWS 3] AS x",
    ),
    ("SELECT streamed distinct a FROM t", "SELECT STREAMED DISTINCT a FROM t"),
    (
        "create stream s order by t secs slack 1 min source 'x.csv' with (header = 'true')",
        "CREATE STREAM s ORDER BY t SECONDS SLACK 1 MINUTE SOURCE 'x.csv' WITH ('header' = 'true')",
    ),
    (
        "CREATE STREAM s (t int) SOURCE 'x.csv' ORDER BY t milliseconds",
        "CREATE STREAM s (t int) ORDER BY t MILLISECONDS SOURCE 'x.csv'",
    ),
    ("CREATE TABLE t NON RETROACTIVE SOURCE 'x'", "CREATE TABLE t NON RETROACTIVE SOURCE 'x'"),
    ("CREATE TABLE t SOURCE 'x' KEY (a)", "CREATE TABLE t KEY (a) SOURCE 'x'"),
    ("SELECT COMPLETE * FROM t", "SELECT COMPLETE * FROM t"),
    ("SELECT complete * 2, streamed FROM t", "SELECT complete * 2, streamed FROM t"),
    (
        "SELECT a % 2, mod(a + 1, 3), a div b, a <=> b, - -1, a || 'a''b' FROM t",
        "SELECT a % 2, (a + 1) % 3, a DIV b, a IS NOT DISTINCT FROM b, - -1, a || 'a''b' FROM t",
    ),
    (
        "SELECT a IS NOT NULL, a NOT LIKE 'x%', a RLIKE 'x', a NOT IN (1, 2) FROM t",
        "SELECT NOT a IS NULL, NOT a LIKE 'x%', regexp_like(a, 'x'), NOT a IN (1, 2) FROM t",
    ),
    (
        "SELECT CASE a WHEN 1 THEN 2 ELSE 3 END, a::varchar(5), TRY_CAST(a AS double precision)",
        "SELECT CASE a WHEN 1 THEN 2 ELSE 3 END, CAST(a AS varchar(5)), TRY_CAST(a AS double)",
    ),
    (
        "SELECT DATE '2020-01-01', INTERVAL 3 months, INTERVAL '1 day 2 hours', INTERVAL 5 MINUTE",
        "SELECT CAST('2020-01-01' AS date), INTERVAL '3' MONTH, INTERVAL '1 day 2 hour', "
        "INTERVAL '5' MINUTE",
    ),
    (
        "SELECT Extract(hour FROM ts), substring(a FROM 2 FOR 3), trim(BOTH 'x' FROM a)",
        "SELECT EXTRACT(HOUR FROM ts), substring(a, 2, 3), trim(a, 'x')",
    ),
    (
        "SELECT Count(DISTINCT a), sum(a) FILTER (WHERE b), avg(x) OVER (ROWS 5 PRECEDING) FROM t",
        "SELECT count(DISTINCT a), sum(a) FILTER(WHERE b), avg(x) OVER (ROWS 5 PRECEDING) FROM t",
    ),
    (
        "SELECT sum(x) OVER (PARTITION BY a, b % 2 ORDER BY ts RANGE BETWEEN INTERVAL '5' MINUTE "
        "PRECEDING AND CURRENT ROW), avg(x) OVER w FROM t WHERE a WINDOW w AS (ROWS 9 PRECEDING)",
        "SELECT sum(x) OVER (PARTITION BY a, b % 2 ORDER BY ts RANGE 5 MINUTES PRECEDING), "
        "avg(x) OVER w FROM t WHERE a WINDOW w AS (ROWS 9 PRECEDING)",
    ),
    (
        "SELECT a() OVER (rows unbounded preceding slide 3), b() OVER (RANGE 90 sec PRECEDING "
        "ACTIVE EXPIRATION), c() OVER (ROWS CURRENT ROW) FROM TABLE(s OVER (RANGE 12 HOURS "
        "PRECEDING)) AS p, TABLE(q OVER (PARTITION BY a ROWS 9 PRECEDING)) r",
        "SELECT a() OVER (ROWS UNBOUNDED PRECEDING SLIDE 3), b() OVER (RANGE 90 SECONDS PRECEDING "
        "ACTIVE EXPIRATION), c() OVER (ROWS 0 PRECEDING) FROM s [RANGE 12 HOURS] AS p, "
        "q [PARTITION BY a ROWS 10] AS r",
    ),
    (
        "SELECT a FROM t WHERE x IN (SELECT y FROM u) AND EXISTS (SELECT 1 FROM v)",
        "SELECT a FROM t WHERE x IN (SELECT y FROM u) AND EXISTS(SELECT 1 FROM v)",
    ),
    (
        "SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c [Now] cc USING (x), d",
        "SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c [NOW] AS cc USING (x), d",
    ),
    (
        "WITH x AS (SELECT 1), y (a, b) AS (SELECT Istream(*) FROM t) SELECT * FROM x, y",
        "WITH x AS (SELECT 1), y(a, b) AS (SELECT ISTREAM(*) FROM t) SELECT * FROM x, y",
    ),
    (
        "(SELECT a FROM s) UNION (SELECT b FROM t) ORDER BY 1 LIMIT 5",
        "(SELECT a FROM s) UNION (SELECT b FROM t) ORDER BY 1 LIMIT 5",
    ),
    (
        'SELECT `x-y`, "z w", date, rows, key FROM stream HAVING count(*) > 1',
        'SELECT `x-y`, "z w", date, rows, key FROM stream HAVING count(*) > 1',
    ),
    (
        "STREAM s (a Integer, t datetime) SOURCE 'x.csv' ORDER BY CURRENT_TIME SLACK 9 seconds",
        "CREATE STREAM s (a int, t timestamp) ORDER BY current_time SLACK 9 SECONDS SOURCE 'x.csv'",
    ),
    (
        "CREATE STREAM \"a b\" (\"order\" numeric(10, 2)) WITH (idle = 5 s, x.y = 'a''b')",
        "CREATE STREAM \"a b\" (\"order\" decimal(10,2)) WITH ('idle' = '5 s', 'x.y' = 'a''b')",
    ),
    (
        "CREATE STREAM out (a, b) AS Istream(SELECT a, b FROM s)",
        "CREATE STREAM out (a, b) AS ISTREAM(SELECT a, b FROM s)",
    ),
    ("create view v as select 1", "CREATE VIEW v AS SELECT 1"),
    ("create or replace view v as select 1", "CREATE OR REPLACE VIEW v AS SELECT 1"),
    ("create or replace stream s (a int)", "CREATE OR REPLACE STREAM s (a int)"),
    ("create or replace table s (a int)", "CREATE OR REPLACE TABLE s (a int)"),
    (
        "create or replace stream s as istream(select 1)",
        "CREATE OR REPLACE STREAM s AS ISTREAM(SELECT 1)",
    ),
    (
        "CREATE TABLE t (id int PRIMARY KEY, name text) SOURCE 't.csv'",
        "CREATE TABLE t (id int, name string) KEY (id) SOURCE 't.csv'",
    ),
    (
        "create table t (a int, b text) slack 5 non retroactive key (a, b) with (time = integer)",
        "CREATE TABLE t (a int, b string) KEY (a, b) NON RETROACTIVE SLACK 5 "
        "WITH ('time' = 'integer')",
    ),
    (
        "insert into t (b, a) values (1, 'x'), (2 + a, null) at 5",
        "INSERT INTO t (b, a) VALUES (1, 'x'), (2 + a, NULL) AT 5",
    ),
    (
        "update t set a = a + 1, b = 'q' where a > 3 at timestamp '2024-01-01'",
        "UPDATE t SET a = a + 1, b = 'q' WHERE a > 3 AT CAST('2024-01-01' AS timestamp)",
    ),
    ("delete from t where a = b at -7", "DELETE FROM t WHERE a = b AT -7"),
    ('DELETE FROM "a b"', 'DELETE FROM "a b"'),
    ("DROP VIEW IF EXISTS v", "DROP VIEW IF EXISTS v"),
    ("show streams", "SHOW STREAMS"),
    ("SHOW", "SHOW"),
    ("show functions like '%a%'", "SHOW FUNCTIONS LIKE '%a%'"),
    ("desc function upper", "DESCRIBE FUNCTION upper"),
    ("describe function '%'", "DESCRIBE FUNCTION '%'"),
    ("describe function left", "DESCRIBE FUNCTION left"),
    ("desc stream bids", "DESCRIBE bids"),
    ("EXPLAIN physical SELECT 1", "EXPLAIN PHYSICAL SELECT 1"),
    ("EXPLAIN bound", "EXPLAIN bound"),
    ("EXPLAIN patterns patterns", "EXPLAIN PATTERNS patterns"),
    ("SET batch_rows = 100", "SET batch_rows = '100'"),
    (
        "SELECT m.x FROM s [rows 3] b match_recognize (partition by k order by ts desc, u measures "
        'final last(A.x + 1, 2) as x, prev(RUNNING last(B.y, 2), 3) AS "Y z", count(A.*) AS n, '
        "classifier(U) AS q all rows per match show empty matches after match skip to A pattern (^ "
        "A{2,5}? (B|(C))+? {- D -} E{,3} F{2} G?? (C D)*? permute(A,(B C)+)$) within interval '5' "
        'minute SUBSET U = (A, B) DEFINE A AS x > 3, "B" AS B.x > prev(B.x)) AS m',
        "SELECT m.x FROM s [ROWS 3] AS b MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts DESC, u "
        'MEASURES FINAL last(A.x + 1, 2) AS x, prev(RUNNING last(B.y, 2), 3) AS "Y z", '
        "count(A.*) AS n, classifier(U) AS q ALL ROWS PER MATCH AFTER MATCH SKIP TO LAST A PATTERN "
        "(^ A{2,5}? (B | C)+? {- D -} E{0,3} F{2} G?? (C D)*? PERMUTE(A, (B C)+) $) WITHIN 5 "
        'MINUTES SUBSET U = (A, B) DEFINE A AS x > 3, "B" AS B.x > prev(B.x)) AS m',
    ),
    (
        "SELECT * FROM (SELECT a FROM t) MATCH_RECOGNIZE (PATTERN ()), "
        "u MATCH_RECOGNIZE (ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (((A | B) | (C D)) (A B)"
        " (()|A)* (^)* A*{2}) ) w (x)",
        "SELECT * FROM (SELECT a FROM t) MATCH_RECOGNIZE (ONE ROW PER MATCH AFTER MATCH SKIP PAST "
        "LAST ROW PATTERN ()), u MATCH_RECOGNIZE (ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER "
        "MATCH SKIP PAST LAST ROW PATTERN (((A | B) | C D) (A B) (() | A)* (^)* (A*){2})) AS w(x)",
    ),
]


@pytest.mark.parametrize(("text", "canonical"), CASES)
def test_round_trip(text: str, canonical: str) -> None:
    (statement,) = parse_script(text)
    assert to_sql(statement) == canonical
    (again,) = parse_script(canonical)
    assert again == statement
    assert to_sql(again) == canonical


def test_quotes_keep_their_kind() -> None:
    (statement,) = parse_script('SELECT "a", `b`, c FROM t')
    a, b, c = (column.this for column in statement.query.expressions)
    assert a.quoted and a.meta.get("double_quoted")
    assert b.quoted and not b.meta.get("double_quoted")
    assert not c.quoted
