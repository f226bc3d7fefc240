"""Joins, set operations and subqueries: what DuckDB says over the rows of the last instant."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from millstream.testing import run_script

HERE = Path(__file__).parent
DATA = HERE / "data"
DECLARED = """
CREATE STREAM a (t int, k int, x int) ORDER BY t SOURCE 'a.csv';
CREATE STREAM b (t int, k int, y int) ORDER BY t SOURCE 'b.csv';
CREATE TABLE i (k int, name string) KEY (k) SOURCE 'i.csv';
"""
LAST = 9
QUERIES = [
    line.removesuffix(";")
    for line in (HERE / "queries.sql").read_text().splitlines()
    if line and not line.startswith("--")
]


def in_duckdb(query: str) -> str:
    """The query with windows written as subqueries, for the last instant."""

    def within(window: re.Match[str]) -> str:
        return f"(SELECT * FROM {window[1]} WHERE t >= {LAST - int(window[2])})"

    query = re.sub(r"\b([ab]) \[Range (\d+)\]", within, query)
    return re.sub(r"\b([ab]) \[Rows 1\]", r"(SELECT * FROM \1 ORDER BY t DESC LIMIT 1)", query)


def bag(rows: list[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(map(plain, row)) for row in rows)


def plain(value: object) -> object:
    is_number = value is not None and not isinstance(value, (bool, str))
    return float(value) if is_number else value  # type: ignore[arg-type]


def rows_of(table: pa.Table, skip: int) -> list[tuple[object, ...]]:
    columns = [column.to_pylist() for column in table.columns[skip:]]
    return list(zip(*columns))


@pytest.fixture(scope="module")
def answers() -> dict[str, list[tuple[object, ...]]]:
    """The content of every query at the end, from one run; of streams, all that came."""
    results = run_script(DECLARED + ";\n".join(QUERIES), DATA)
    return {
        name: rows_of(table, 0 if f"{name}.changes" in results else 1)
        for name, table in results.items()
        if name.startswith("q") and "." not in name
    }


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    there = duckdb.connect()
    for name in "abi":
        there.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{DATA / name}.csv')")
    return there


@pytest.mark.parametrize("number", range(len(QUERIES)), ids=QUERIES)
def test_answer(number, answers, database):
    expected = database.execute(in_duckdb(QUERIES[number])).fetchall()
    assert bag(answers[f"q{number + 1}"]) == bag(expected)
