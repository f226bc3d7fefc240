"""Definitions made of blocks: how scripts are cut, what is optional, and their canonical text."""

from __future__ import annotations

import pytest

from millstream.errors import MillstreamError
from millstream.lang import CreateRoutine, parse_each, parse_script, to_sql
from millstream.lang.guard import check_script

BODY = "{ TABLE t(a int); INSERT INTO t VALUES (x); }"
CASES = [
    (
        "aggregate f(x Integer):real{ITERATE:{insert into return values(x)}}",
        "CREATE AGGREGATE f(x int) : real { ITERATE : { INSERT INTO return VALUES (x); } }",
    ),
    (
        "WINDOW AGGREGATE f(x int, y string) : int { TABLE inwindow(a, b string); "
        "INITIALIZE :ITERATE: { DELETE FROM inwindow WHERE a ≤ x AND a ≥ 1 AND b ≠ 'q'; } "
        "EXPIRE:{} }",
        "CREATE WINDOW AGGREGATE f(x int, y string) : int { TABLE inwindow(a, b string); "
        "INITIALIZE : ITERATE : { DELETE FROM inwindow WHERE a <= x AND a >= 1 AND b <> 'q'; } "
        "EXPIRE : { } }",
    ),
    (
        "FUNCTION f() : (a int) { TABLE t(a int, b int) BTREE (a) INDEX (a, b) AS "
        "SELECT 1, 2; TABLE u(a int) AS VALUES (1), (2); LOAD FROM 'x.csv' INTO t; "
        "INSERT INTO RETURN(a) (SELECT a FROM t) }",
        "CREATE FUNCTION f() : (a int) { TABLE t(a int, b int) BTREE INDEX (a) INDEX (a, b) AS "
        "SELECT 1, 2; TABLE u(a int) AS VALUES (1), (2); LOAD FROM 'x.csv' INTO t; "
        "INSERT INTO RETURN (a) SELECT a FROM t; }",
    ),
    (
        "AGGREGATE f(x int) : int { CREATE AGGREGATE g(y int) : int { INSERT INTO RETURN "
        "SELECT h(y)->a, h(y).b, h(y) AS (a, b), oldest().c FROM TABLE(k(y)) AS z } }",
        "CREATE AGGREGATE f(x int) : int { CREATE AGGREGATE g(y int) : int { INSERT INTO RETURN "
        "SELECT h(y).a, h(y).b, h(y) AS (a, b), oldest().c FROM table(k(y)) AS z; } }",
    ),
    (
        "aggregate f(x int) : int { update t set a = a + 1, b = 2 where a > x; "
        "insert into t values ((1, 2), (3, 4)) where x > 0 }",
        "CREATE AGGREGATE f(x int) : int { UPDATE t SET a = a + 1, b = 2 WHERE a > x; "
        "INSERT INTO t VALUES (1, 2), (3, 4) WHERE x > 0; }",
    ),
    (
        "CREATE WINDOW AGGREGATE f(x double) : (a double, b int) LANGUAGE Python AS 'my:Own'",
        "CREATE WINDOW AGGREGATE f(x double) : (a double, b int) LANGUAGE python AS 'my:Own'",
    ),
    ("explain aggregate f", "EXPLAIN AGGREGATE f"),
    ("explain aggregate", "EXPLAIN aggregate"),
    ("load from 'x.csv' into t", "LOAD FROM 'x.csv' INTO t"),
    ("drop window aggregate if exists f", "DROP WINDOW AGGREGATE IF EXISTS f"),
]


@pytest.mark.parametrize(("text", "canonical"), CASES)
def test_canonical_text_parses_to_an_equal_statement(text: str, canonical: str) -> None:
    (statement,) = parse_script(text)
    assert to_sql(statement) == canonical
    assert parse_script(canonical) == (statement,)
    assert to_sql(parse_script(canonical)[0]) == canonical


@pytest.mark.parametrize("between", [";", "", "; ;", "\n-- }\n", "/* ; } */ ;"])
def test_a_closing_brace_ends_a_statement(between: str) -> None:
    one = f"AGGREGATE f(x int) : int {BODY}"
    script = f"SELECT a FROM s; {one} {between} {one.replace('f(', 'g(')} {between} SELECT b FROM s"
    kinds = [isinstance(s, CreateRoutine) for s in parse_script(script)]
    assert kinds == [False, True, True, False]


def test_braces_and_semicolons_in_strings_are_text() -> None:
    (statement,) = parse_script("AGGREGATE f() : string { INSERT INTO RETURN VALUES ('};{') }")
    assert "'};{'" in to_sql(statement)


def test_a_mistake_in_a_definition_hides_no_other() -> None:
    script = f"AGGREGATE f(x) : int {BODY} AGGREGATE g(x int) : int {BODY} SELECT FROM s"
    first, second, third = parse_each(script)
    assert first.error.message == 'argument "x" has no type' and first.name == "f()"
    assert isinstance(second, CreateRoutine) and third.error is not None


def test_braces_nest_as_deep_as_parentheses() -> None:
    check_script("{" * 200 + "}" * 200)
    with pytest.raises(MillstreamError, match="nested more than 200 deep"):
        check_script("{" * 201)
    check_script("AGGREGATE f() : int { " + "INSERT INTO t VALUES (1); " * 500 + "}")
