"""A pattern over a relation searches the rows that a change can affect, and says how many."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millstream.database import Database
from millstream.local.host import LocalHost

ROWS, CHANGES = 600, 30


def write_table(folder: Path, place: int) -> None:
    """Rows that fall three times and rise again; changes around a place in their order."""
    lines = ["op,ts,n,v", *(f"+,0,{n},{9 - n % 4}" for n in range(ROWS))]
    lines += [f"u,{at},{place + at % 3},{at % 10}" for at in range(1, CHANGES + 1)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")


def rows_for_each_change(folder: Path, batch_rows: str) -> float:
    told: list[str] = []
    database = Database(base=str(folder), tell=told.append)
    database.pin("batch_rows", batch_rows)
    database.execute(
        "CREATE TABLE t (n int, v int) KEY (n) SOURCE 't.csv';"
        "CREATE VIEW falls AS SELECT FIRST(Y).n AS a, count(*Y) AS m FROM t SEQUENCE BY n "
        "AS (X, *Y) WHERE Y.v < Y.previous.v;"
    )
    host = LocalHost(database.job(), database.sources(follow=False), [])
    database.held = host.held
    host.run()
    database.execute("EXPLAIN STATE falls")
    found = re.search(r"(\d+) instants? of .* changed: ([\d,.]+) rows searched", told[-1])
    assert found is not None, told[-1]
    return (float(found[2].replace(",", "")) * int(found[1]) - ROWS) / (int(found[1]) - 1)


@pytest.mark.parametrize("batch_rows", ["10", "auto"])
def test_rows_before_a_change_are_not_searched_again(tmp_path: Path, batch_rows: str) -> None:
    """The first instant searches all rows; each change those behind the last match before it."""
    write_table(tmp_path, ROWS - 10)
    late = rows_for_each_change(tmp_path, "600" if batch_rows == "auto" else batch_rows)
    assert late <= 20


def test_matches_that_are_shown_are_bounded_by_the_rows() -> None:
    told: list[str] = []
    database = Database(tell=told.append)
    database.execute(
        "CREATE TABLE t (n int, v int) KEY (n);"
        "EXPLAIN STATE SELECT FIRST(Y).n AS a FROM t SEQUENCE BY n AS (X, *Y) WHERE Y.v < X.v;"
    )
    (line,) = (line for line in told[-1].splitlines() if "matches that are shown" in line)
    assert line.split("  ")[-1] == "the 0 rows of table t"
