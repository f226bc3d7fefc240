"""Active expiration on a live stream: the clock moves it, though nothing arrives any more."""

from __future__ import annotations

import time
from pathlib import Path

from millstream.database import Database
from millstream.local.host import LocalHost
from millstream.testing.run import KeptResults

SCRIPT = """
CREATE STREAM tags (tag string) ORDER BY current_time SOURCE 'in/*.csv';
WINDOW AGGREGATE gone(tag string) : string {
  TABLE inwindow(seen);
  EXPIRE : { INSERT INTO RETURN SELECT tag FROM inwindow HAVING count(*) = 1; }
}
CREATE VIEW alerts AS
  SELECT gone(tag) OVER (PARTITION BY tag RANGE 300 ms PRECEDING ACTIVE EXPIRATION) AS tag
  FROM tags;
"""


def test_a_tuple_leaves_when_its_time_has_come(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("tag\nbook\nkeys\nbook\n")
    database = Database(base=str(tmp_path), tell=lambda text: None)
    database.execute(SCRIPT)
    kept = KeptResults()
    host = LocalHost(database.job(), database.sources(follow=True), [kept], follow=True)
    until = time.monotonic() + 20
    while sum(part.num_rows for part in kept.parts.get("alerts", [])) < 2:
        assert time.monotonic() < until, "the clock does not move it"
        host.batch()
        time.sleep(0.02)
    assert sorted(kept.tables()["alerts"].column("tag").to_pylist()) == ["book", "keys"]
