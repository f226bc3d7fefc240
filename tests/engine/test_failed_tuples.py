"""Tuples that an aggregate or a function cannot take: they are told, and the query lives on."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.testing import run_script

SCRIPT = """
CREATE STREAM bids (at int, item string, price int) ORDER BY at SOURCE 'bids.csv';
AGGREGATE down(x int) : int {
  TABLE sum(t int) AS VALUES (0);
  INITIALIZE : ITERATE : {
    UPDATE sum SET t = t + x;
    INSERT INTO RETURN SELECT t FROM sum WHERE x < 100;
    INSERT INTO RETURN SELECT down(x) FROM (SELECT 1 AS one) o WHERE x >= 100; }
}
FUNCTION deep(x int) : (y int) {
  INSERT INTO RETURN VALUES (x) WHERE x < 100;
  INSERT INTO RETURN SELECT y FROM TABLE(deep(x)) AS d WHERE x >= 100;
}
CREATE VIEW sums AS SELECT down(price) AS s FROM bids;
CREATE VIEW rows AS SELECT y FROM bids, TABLE(deep(price)) AS d;
"""


@pytest.mark.parametrize("batch_rows", ["1", "auto"])
def test_the_query_lives_on(tmp_path: Path, batch_rows: str) -> None:
    (tmp_path / "bids.csv").write_text("at,item,price\n1,a,5\n2,a,100\n3,b,7\n")
    found = run_script(SCRIPT, tmp_path, {"batch_rows": batch_rows}, restart=True)
    assert found["sums"].column("s").to_pylist() == [5, 12], "the instance is as it was before it"
    errors = found["bids.errors"]
    assert set(errors.column("row").to_pylist()) <= {"a,100", "100", "2,a,100"}
    assert all("called inside itself" in reason for reason in errors.column("reason").to_pylist())
    assert found["rows"].column("y").to_pylist() == [5, 7]
    assert errors.num_rows == 2
