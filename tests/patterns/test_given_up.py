"""What is said of attempts that are given up, through the whole system, however rows are cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.testing import run_script

SCRIPT = """
CREATE STREAM s (at int, v int) ORDER BY at SOURCE 's.csv';
SELECT * FROM s MATCH_RECOGNIZE (
  MEASURES FIRST(at) AS since, LAST(at) AS until
  PATTERN ((A | C)* B)
  DEFINE A AS v = FIRST(v), C AS v = FIRST(v), B AS v = 2);
"""
ONES = 60


@pytest.mark.parametrize("batch_rows", ["1", "7", "auto"])
@pytest.mark.parametrize("restart", [False, True])
def test_the_first_row_is_in_the_error_stream(
    tmp_path: Path, batch_rows: str, restart: bool
) -> None:
    """The row that is none of the variables ends each attempt; the search goes on there."""
    values = [1] * ONES + [3, 2, 1, 2, 5]
    lines = [f"{at},{v}" for at, v in enumerate(values)]
    (tmp_path / "s.csv").write_text("\n".join(["at,v", *lines]) + "\n")
    settings = {"batch_rows": batch_rows, "pattern_steps": "20"}
    found = run_script(SCRIPT, tmp_path, settings, restart)
    matches = [(row["since"], row["until"]) for row in found["q1"].to_pylist()]
    assert matches == [(ONES, ONES + 1), (ONES + 2, ONES + 3)]
    (error,) = found["s.errors"].to_pylist()
    assert error["row"] == "0,1" and "SET pattern_steps" in error["reason"]


@pytest.mark.parametrize("batch_rows", ["1", "3", "auto"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_skip_to_a_variable_without_a_row_is_told(
    tmp_path: Path, batch_rows: str, restart: bool
) -> None:
    """The match of rows 0 and 1 has no C; the search goes on one row after its start."""
    lines = [f"{at},{v}" for at, v in enumerate([1, 2, 5, 1, 2, 3, 4])]
    (tmp_path / "s.csv").write_text("\n".join(["at,v", *lines]) + "\n")
    script = """
    CREATE STREAM s (at int, v int) ORDER BY at SOURCE 's.csv';
    SELECT * FROM s MATCH_RECOGNIZE (
      MEASURES A.at AS since, C.at AS skipped
      AFTER MATCH SKIP TO C
      PATTERN (A B C?)
      DEFINE A AS v = 1, B AS v = 2, C AS v = 3);
    """
    found = run_script(script, tmp_path, {"batch_rows": batch_rows}, restart)
    assert [(r["since"], r["skipped"]) for r in found["q1"].to_pylist()] == [(3, 5)]
    (error,) = found["s.errors"].to_pylist()
    assert error["row"] == "0,1" and "AFTER MATCH SKIP" in error["reason"]
