"""What the author of a pattern is told that matches never, or always: where, and what to write."""

from __future__ import annotations

import pytest

from millstream.database import Database

SETUP = """
CREATE STREAM s (t int, k varchar, x double, n int) ORDER BY t;
CREATE TABLE kept (t int, k varchar, x double);
"""
NEVER = "Change one of its conditions: EXPLAIN MACHINE shows where each of them is tested."
LONGER = "Write WITHIN and a length of time after the elements, or an element that ends it."
ALWAYS = "Give it a condition that some rows do not meet."
EMPTY = "Write + in the place of *, or ALL ROWS PER MATCH OMIT EMPTY MATCHES."

TOLD = {
    "FROM s AS (A, *B, C) WHERE B.x > 5 AND B.x < 3": (
        "never matches: no tuple meets the conditions of *B, at line 1, column 19",
        NEVER,
    ),
    "FROM s AS (A, B) WHERE A.n < B.n AND B.n < A.n + 1": (
        "never matches: no tuple meets the conditions of B, at line 1, column 19",
        NEVER,
    ),
    "FROM s AS (A, *B, C)\nWHERE B.x > 5 AND C.x > 7": (
        "never matches: the star before C takes each tuple that C could take, at line 1, column 19",
        NEVER,
    ),
    "FROM s\nPARTITION BY k AS (A, B) WHERE A.x > 5 AND B.previous.x < 3": (
        "never matches: the conditions of B contradict those of the elements before it, "
        "at line 2, column 1",
        NEVER,
    ),
    "FROM s AS (A, B) WHERE B.x < B.previous.x AND B.x > A.x": (
        "never matches: the conditions of B contradict those of the elements before it, "
        "at line 1, column 19",
        NEVER,
    ),
    "FROM s AS (A, *B) WHERE B.x > 3 AND count(*B) < 1": (
        "never matches: no star *B that has ended meets what is asked of it then, "
        "at line 1, column 19",
        NEVER,
    ),
    "FROM s AS (A, *B)": (
        "never matches: every tuple meets the conditions of *B, so that it never ends, "
        "at line 1, column 19",
        LONGER,
    ),
    "FROM s AS (A, B)": (
        "matches wherever the search begins: all tuples meet its conditions, at line 1, column 19",
        ALWAYS,
    ),
    "FROM s MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A B+) DEFINE B AS x > 3 AND x < 2) AS A": (
        "never matches: no tuple meets the conditions of B, at line 1, column 63",
        NEVER,
    ),
    "FROM s MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A B*) DEFINE B AS x > 3) AS A": (
        "matches wherever the search begins: all rows meet the conditions of one way through it, "
        "at line 1, column 63",
        ALWAYS,
    ),
    "FROM s MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A*) DEFINE A AS x > 3) AS A": (
        "matches wherever the search begins: it also matches no row at all, and each such match "
        "is a row of the answer, at line 1, column 63",
        EMPTY,
    ),
}

QUIET = (
    "FROM s AS (A, *B) WHERE B.x > 3",
    "FROM s AS (A, *B) WITHIN 5",
    "FROM kept SEQUENCE BY t AS (A, *B)",
    "FROM s AS (A, *B, C) WHERE B.x > 5 AND C.x > 3",
    "FROM s AS (A, B) WHERE B.x = B.x",
    "FROM s MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A B+) DEFINE B AS x > PREV(x)) AS A",
    "FROM s MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A (B | C)) "
    "DEFINE A AS x > 9, B AS x > 3 AND x < 2) AS A",
)


def notices(query: str) -> list[tuple[str, str | None]]:
    database = Database(tell=lambda text: None)
    database.execute(SETUP)
    found = database.query(f"SELECT A.x {query};").notices
    return [
        (n.render().removesuffix(f" (hint: {n.hint})"), n.hint)
        for n in found
        if "the pattern " in n.message and " in a pattern " not in n.message
    ]


@pytest.mark.parametrize("query", TOLD)
def test_what_is_told(query: str) -> None:
    message, hint = TOLD[query]
    assert notices(query) == [(f"q1: the pattern {message}", hint)]


@pytest.mark.parametrize("query", QUIET)
def test_patterns_that_may_match_and_may_not(query: str) -> None:
    assert notices(query) == []
