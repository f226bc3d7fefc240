"""Scalar expressions over rows with NULLs give what DuckDB gives, or what scalars.txt says."""

from __future__ import annotations

import datetime as dt
import math
import shlex
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from millstream.testing import run_script

COLUMNS = ("n", "i", "j", "x", "d", "s", "t", "b", "ts", "day")
ROWS = [
    (1, 1, 2, 1.5, "1.25", "", "12", "true", "2024-02-29 12:34:56.789", "2024-02-29"),
    (2, -3, 2, -2.25, "-7.10", "abc", " 3.5 ", "false", "1969-12-31 23:59:59.999999", "1815-12-10"),
    (3, 0, 0, 0.0, "0.00", "日本c", "c", "true", "2024-12-30 00:00:00", "2000-01-01"),
    (4, 15, -4, 1234.125, "99.99", "a%c", "a%", "", "0002-01-05 00:00:00", "0002-01-05"),
    (5, None, 7, 2.5, "", "x_z", "2024-01-05", "false", "9998-12-30 23:59:59", "9998-12-30"),
    (6, None, None, None, "", None, None, "", "", ""),
]
CASES = [
    line
    for line in Path(__file__).with_name("scalars.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
STREAM = """
CREATE STREAM r (n bigint, i bigint, j bigint, x double, d decimal(6,2), s string, t string,
                 b boolean, ts timestamp, day date) ORDER BY n SOURCE 'rows.jsonl';
"""


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 80


@pytest.mark.parametrize("case", CASES)
def test_expression(case: str, ours: dict[str, list[Any]]) -> None:
    expression, theirs, values = _parts(case)
    expected = values if values is not None else _duckdb(theirs)
    assert _same(ours[expression], expected), (ours[expression], expected)


def test_aggregates_of_every_type(tmp_path: Path) -> None:
    """min, max, count, first and last of every type; sum, avg, stddev, median of numbers."""
    calls = [f"{f}({c})" for c in COLUMNS[1:] for f in ("min", "max", "count")]
    calls += [f"{f}({c})" for c in "ijxd" for f in ("sum", "avg", "stddev_samp")]
    calls += ["median(i)", "median(x)", "median(CAST(d AS double))"]
    _write(tmp_path)
    query = f"SELECT {', '.join(f'{c} AS c{k}' for k, c in enumerate(calls))} FROM r [Rows 100];"
    rows = run_script(STREAM + query, tmp_path)["q1"].to_pylist()
    theirs = _connection().sql(f"SELECT {', '.join(calls)} FROM r").fetchall()[0]
    assert _same(list(rows[-1].values()), list(theirs))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """All expressions in a few queries of one run."""
    folder = tmp_path_factory.mktemp("rows")
    _write(folder)
    asked = list(dict.fromkeys(_parts(case)[0] for case in CASES))
    groups = [asked[k : k + 50] for k in range(0, len(asked), 50)]
    lists = [", ".join(f"{e} AS c{k}" for k, e in enumerate(group)) for group in groups]
    queries = "".join(f"SELECT Istream(n, {items}) FROM r [Now];\n" for items in lists)
    results = run_script(STREAM + queries, folder)
    return {
        expression: results[f"q{g + 1}"].column(f"c{k}").to_pylist()
        for g, group in enumerate(groups)
        for k, expression in enumerate(group)
    }


def _parts(case: str) -> tuple[str, str, list[Any] | None]:
    expression, arrow, values = case.partition(" => ")
    if arrow:
        return expression, "", [_value(v, q) for v, q in _words(values)]
    expression, _, theirs = case.partition(" ~ ")
    return expression, theirs or expression, None


def _words(text: str) -> list[tuple[str, bool]]:
    lexer = shlex.shlex(text, posix=False)
    lexer.whitespace_split = True
    return [(word.strip("'"), word.startswith("'")) for word in lexer]


def _value(word: str, quoted: bool) -> Any:
    if quoted:
        return word
    return None if word == "NULL" else int(word)


def _write(folder: Path) -> None:
    import json

    lines = [
        json.dumps({c: None if v == "" and c != "s" else v for c, v in zip(COLUMNS, row)})
        for row in ROWS
    ]
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.sql(
        "CREATE TABLE r (n bigint, i bigint, j bigint, x double, d decimal(6,2), "
        "s varchar, t varchar, b boolean, ts timestamp, day date)"
    )
    rows = [[None if v == "" and c != "s" else v for c, v in zip(COLUMNS, row)] for row in ROWS]
    connection.executemany("INSERT INTO r VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return connection


def _duckdb(expression: str) -> list[Any]:
    rows = _connection().sql(f"SELECT {expression} FROM r ORDER BY n").fetchall()
    return [row[0] for row in rows]


def _same(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(map(_equal, left, right))


def _equal(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, dt.datetime) != isinstance(b, dt.datetime):
        a, b = (
            v if isinstance(v, dt.datetime) else dt.datetime(v.year, v.month, v.day) for v in (a, b)
        )
    if isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float, Decimal)):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    return a == b
