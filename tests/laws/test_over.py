"""OVER agrees with its definition on generated functions, windows and rows, however it is cut."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from laws.scale import SCALE
from millstream.rules.slide_in_panes import slide_in_panes
from millstream.testing import run_script
from oracle.over import (
    COLUMNS,
    Call,
    admitted,
    answer,
    placed,
    random_calls,
    random_rows,
    random_window,
)

STREAM = (
    "CREATE STREAM {name} (ts int, k int, w string, x int, d double) ORDER BY ts SLACK {slack} "
    "SOURCE '{name}.csv';\n"
)
CONFIGURATIONS = (
    {"batch_rows": "1"},
    {"batch_rows": "3", "buckets": "7"},
    {"batch_rows": "6", "strategy": "negative"},
    {"batch_rows": "20", "strategy": "direct"},
    {"rules": "off", "batch_rows": "5"},
    {},
)
CHUNK = 50
CASES = 150 * SCALE


def run(rows: list[dict], slack: int, query: str, settings: dict[str, str], restart: bool) -> list:
    """The answer of a query, as tuples whose first is the instant."""
    with tempfile.TemporaryDirectory() as folder:
        write(rows, Path(folder) / "s.csv")
        script = STREAM.format(name="s", slack=slack) + f"{query};"
        return tuples(run_script(script, folder, settings, restart)["q1"])


def write(rows: list[dict], path: Path) -> None:
    cells = [["" if r[c] is None else str(r[c]) for c in COLUMNS] for r in rows]
    path.write_text("\n".join([",".join(COLUMNS), *map(",".join, cells)]) + "\n")


def tuples(table: pa.Table) -> list[tuple]:
    return list(zip(*(column.to_pylist() for column in table.columns)))


def comparable(rows: list[tuple]) -> list[tuple]:
    """Rows as they are compared: as a bag, numbers to ten digits."""

    def cell(value: object) -> object:
        if isinstance(value, float | Fraction):
            return f"{float(value):.10g}"
        return str(tuple(value)) if isinstance(value, list | tuple) else str(value)

    return sorted(tuple(f"{cell(v)}" for v in row) for row in rows)


def numbers(rows: list[tuple]) -> list[tuple]:
    """Integers as doubles, so that 2 and 2.0 are the same."""
    return [tuple(float(v) if isinstance(v, int) else v for v in row) for row in rows]


def check(seed: int, restart: bool = False) -> None:
    rng = Random(seed)
    slack = rng.choice((0, 0, 2, 5))
    rows, settings = random_rows(rng, slack), CONFIGURATIONS[seed % len(CONFIGURATIONS)]
    if seed % 5 == 0:
        query, expected = _places(rng, admitted(rows, slack))
    else:
        query, expected = aggregates(rng, admitted(rows, slack))
    found = run(rows, slack, query, settings, restart)
    assert comparable(numbers(found)) == comparable(numbers(expected)), f"{seed}: {query}\n{rows}"


def aggregates(rng: Random, rows: list[dict]) -> tuple[str, list[tuple]]:
    calls: list[Call] = random_calls(rng)
    last = max((row["ts"] for row in rows), default=0)
    if rng.random() < 0.3:
        rows = [row for row in rows if row["x"] is not None]
        where = " WHERE x IS NOT NULL"
    else:
        where = ""
    listed = ", ".join(f"{call.sql} AS c{i}" for i, call in enumerate(calls))
    return f"SELECT {', '.join(COLUMNS)}, {listed} FROM s{where}", answer(rows, calls, last)


def _places(rng: Random, rows: list[dict]) -> tuple[str, list[tuple]]:
    partition = random_window(rng, True).partition
    by = f"PARTITION BY {', '.join(partition)}" if partition else ""
    expected = [
        (row["ts"], *(row[c] for c in COLUMNS), *placed(rows, at, partition).values())
        for at, row in enumerate(rows)
    ]
    names = placed(rows, 0, partition) if rows else placed([_NONE], 0, partition)
    listed = ", ".join(f"{call} OVER ({by}) AS c{i}" for i, call in enumerate(names))
    return f"SELECT {', '.join(COLUMNS)}, {listed} FROM s", expected


_NONE = dict.fromkeys(COLUMNS, 0)


def test_a_few_cases_quickly() -> None:
    for seed in range(70_000, 70_040):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, CASES, CHUNK))
def test_over_agrees_with_its_definition(start: int) -> None:
    for seed in range(start, start + CHUNK):
        check(seed)


@pytest.mark.slow
def test_a_restart_after_every_batch_does_not_matter() -> None:
    for seed in range(5_000, 5_000 + 20 * SCALE):
        check(seed, restart=True)


@pytest.mark.slow
def test_large_structures_are_the_same_as_small_ones(monkeypatch) -> None:
    for name, value in (("MUCH", 1), ("RARELY", 0), ("OFTEN", 0)):
        monkeypatch.setattr(f"millstream.state.by_key.{name}", value)
    monkeypatch.setattr("millstream.state.index.SMALL", 2)
    for name, value in (("PAGE_ROWS", 2), ("FEWEST_PAGES", 1), ("MOST_CHUNKS", 2)):
        monkeypatch.setattr(f"millstream.state.waiting.{name}", value)
    for seed in range(6_000, 6_000 + 40 * SCALE):
        check(seed)


@pytest.mark.slow
def test_panes_of_any_size_do_not_matter(monkeypatch) -> None:
    monkeypatch.setitem(slide_in_panes.__globals__, "WORTH", 1)
    monkeypatch.setattr("millstream.state.index.SMALL", 2)
    for seed in range(8_000, 8_000 + 200 * SCALE):
        check(seed)
    for seed in range(9_000, 9_000 + 20 * SCALE):
        check(seed, restart=True)


@pytest.mark.slow
def test_steps_inside_a_batch_do_not_matter(monkeypatch) -> None:
    monkeypatch.setattr("millstream.engine.level.STEP_ROWS", 3)
    monkeypatch.setattr("millstream.engine.level.SEARCHING", 1)
    for seed in range(7_000, 7_000 + 40 * SCALE):
        check(seed)


PLACES = ("first", "last", "nth_value")
"""DuckDB has no FILTER for these."""

DUCKDB = {"first": "first_value", "last": "last_value", "array_agg": "list"}


@pytest.mark.parametrize("seed", range(12))
def test_duckdb_says_the_same(seed: int) -> None:
    """By ROWS always; by RANGE where no two rows of a partition tie."""
    duckdb = pytest.importorskip("duckdb")
    rng = Random(seed)
    units = ("rows", "range")[seed % 2]
    rows = _many_rows(rng, ties=units == "rows")
    windows = [
        replace(random_window(rng, True), units=units, preceding=rng.choice((0, 3, 40, None)))
        for _ in range(3)
    ]
    calls = [
        replace(call, window=window, only=call.only and call.function not in PLACES)
        for window in windows
        for call in random_calls(rng)
        if call.function not in ("max_by", "quantile")
    ]
    listed = ", ".join(f"{call.sql} AS c{i}" for i, call in enumerate(calls))
    mine = run(
        rows, 0, f"SELECT {', '.join(COLUMNS)}, {listed} FROM s", {"batch_rows": "70"}, False
    )
    cells = ", ".join(str((*(row[c] for c in COLUMNS), n)) for n, row in enumerate(rows))
    con = duckdb.connect()
    con.execute("CREATE TABLE s (ts BIGINT, k BIGINT, w VARCHAR, x BIGINT, d DOUBLE, n BIGINT)")
    con.execute(f"INSERT INTO s VALUES {cells.replace('None', 'NULL')}")
    theirs = con.execute(
        f"SELECT ts, {', '.join(COLUMNS)}, {', '.join(map(_as_duckdb, calls))} FROM s"
    ).fetchall()
    assert comparable(numbers(mine)) == comparable(numbers(theirs))


def _many_rows(rng: Random, ties: bool) -> list[dict]:
    now, rows = 0, []
    for _ in range(300):
        now += rng.choice((0, 1, 2)) if ties else rng.choice((1, 2, 9))
        row = random_rows(rng, 0) or [{"k": 1, "w": "a", "x": None, "d": 0.5}]
        rows.append({**row[0], "ts": now})
    return rows


def _as_duckdb(call: Call) -> str:
    window = call.window
    by = f"PARTITION BY {', '.join(window.partition)} " if window.partition else ""
    length = "UNBOUNDED" if window.preceding is None else window.preceding
    order = "ts, n" if window.units == "rows" else "ts"
    name = DUCKDB.get(call.function, call.function)
    head = call.sql.partition(" OVER ")[0].replace(f"{call.function}(", f"{name}(", 1)
    return (
        f"{head} OVER ({by}ORDER BY {order} {window.units.upper()} BETWEEN {length} PRECEDING "
        "AND CURRENT ROW)"
    )
