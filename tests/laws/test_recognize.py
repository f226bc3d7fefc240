"""MATCH_RECOGNIZE agrees with its definition, by chance, however the rows are cut.

The DuckDB that we test with has no MATCH_RECOGNIZE, so the definition is the only witness.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest

from laws.scale import SCALE
from laws.test_over import comparable, numbers, tuples
from millstream.errors import MillstreamError
from millstream.testing import run_script
from oracle.generate_recognize import Generator, rows_of, shuffled
from oracle.over import admitted
from oracle.recognize import Recognize, Rows, TooLong, of_stream, of_table

COLUMNS = ("ts", "k", "n", "m")
SOURCES = (
    "CREATE STREAM s (ts int, k int, n int, m int) ORDER BY ts SLACK {slack} SOURCE 's.csv';\n"
    "CREATE TABLE t (ts int, k int, n int, m int) SOURCE 't.csv';\n"
)
CHUNK = 50
CASES = 250 if SCALE == 1 else 3_000
REFUSED = "every match begins with"


def settings_of(rng: Random) -> dict[str, str]:
    return {
        "batch_rows": rng.choice(("1", "2", "5", "auto")),
        "buckets": rng.choice(("1", "2", "7")),
        "placement": rng.choice(("auto", "driver", "executors")),
        "rules": rng.choice(("on", "on", "off")),
        "strategy": rng.choice(("negative", "direct", "update_pattern")),
    }


def text(query: Recognize, source: str) -> str:
    """The query, with the columns that are compared."""
    columns = COLUMNS if query.shows_all else query.partition
    names = [*columns, *(name for name, _ in query.measures)]
    return f"SELECT {', '.join(names)} FROM {source} {query.sql}"


def expected_of(query: Recognize, rows: Rows, slack: int, table: bool) -> list[tuple]:
    columns = COLUMNS if query.shows_all else query.partition
    names = [*columns, *(name for name, _ in query.measures)]
    if table:
        return [tuple(row[name] for name in names) for row in of_table(query, rows)]
    found = of_stream(query, admitted(rows, slack))
    return [(at, *(row[name] for name in names)) for at, row in found]


def write(rows: Rows, path: Path) -> None:
    cells = [["" if row[c] is None else str(row[c]) for c in COLUMNS] for row in rows]
    path.write_text("\n".join([",".join(COLUMNS), *map(",".join, cells)]) + "\n")


def answerable(rng: Random, rows: Rows, slack: int, table: bool) -> tuple[Recognize, bool]:
    """A query that the definition answers soon, and that is not refused."""
    while True:
        query = Generator(rng, table).query()
        if query.skip not in ("first", "last", "to"):
            try:
                expected_of(query, rows, slack, table)
            except TooLong:
                continue
            return query, table


def check(seed: int, restart: bool | None = None) -> None:
    rng = Random(seed)
    slack, table = rng.choice((0, 0, 2, 5)), rng.random() < 0.35
    rows = shuffled(rng, rows_of(rng, rng.randint(0, 16)), slack)
    settings = settings_of(rng)
    restarts = rng.random() < 0.25 if restart is None else restart
    query = Generator(rng, table).query()
    try:
        expected = expected_of(query, rows, slack, table)
    except TooLong:
        return
    with tempfile.TemporaryDirectory() as folder:
        write(rows, Path(folder) / "s.csv")
        write(rows, Path(folder) / "t.csv")
        script = SOURCES.format(slack=slack) + text(query, "t" if table else "s") + ";\n"
        try:
            found = run_script(script, folder, settings, restarts).get("q1")
        except MillstreamError as error:
            assert REFUSED in error.message, f"{seed}: {error.render()}"
            return
    mine = [] if found is None else tuples(found)
    assert comparable(numbers(mine)) == comparable(numbers(expected)), (
        f"{seed}: {text(query, 's')}\nslack {slack}, {settings}, restarts {restarts}\n"
        + "\n".join(map(str, rows))
    )


def test_a_few_cases_quickly() -> None:
    for seed in range(80_000, 80_060):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, CASES, CHUNK))
def test_patterns_agree_with_their_definition(start: int) -> None:
    for seed in range(start, start + CHUNK):
        check(seed)


@pytest.mark.slow
def test_a_restart_after_every_batch_does_not_matter() -> None:
    for seed in range(105_000, 105_000 + 40 * SCALE):
        check(seed, restart=True)


@pytest.mark.slow
def test_steps_inside_a_batch_do_not_matter(monkeypatch) -> None:
    monkeypatch.setattr("millstream.engine.level.STEP_ROWS", 3)
    monkeypatch.setattr("millstream.engine.level.SEARCHING", 1)
    for seed in range(107_000, 107_000 + 60 * SCALE):
        check(seed)
