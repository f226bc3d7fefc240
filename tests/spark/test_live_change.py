"""Queries come and go while a job runs on Spark, which is stopped in between."""

from pathlib import Path

import pytest

from millstream.database import Database
from millstream.engine.placement import DRIVER, EXECUTORS
from millstream.spark.host import SparkHost
from millstream.testing.run import KeptResults, run_script

pytestmark = pytest.mark.spark

STREAMS = "CREATE STREAM bids (ts bigint, item bigint, price bigint) ORDER BY ts SOURCE 'bids.csv';"
TOTALS = "CREATE VIEW totals AS SELECT item, count(*) AS n FROM bids [Range 9] GROUP BY item;"
SIZES = "CREATE VIEW sizes AS SELECT n, count(*) AS items FROM totals GROUP BY n;"
WIDE = "CREATE VIEW wide AS SELECT item, count(*) AS n FROM bids [Range 5000] GROUP BY item;"


class Killed(Exception):
    """The process is gone in the middle of a batch."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{t},{t * 7 % 11},{t * t % 101}" for t in range(1, 201)]
    (tmp_path / "bids.csv").write_text("\n".join(["ts,item,price", *rows]) + "\n")
    return tmp_path


class Changing(KeptResults):
    """Adds and drops queries when answers of a batch are handed out, while it still runs; and may
    be killed there."""

    def __init__(self, session: Database, changes: dict[int, str], dies: int | None) -> None:
        super().__init__()
        self.session, self.changes, self.dies = session, changes, dies
        self.host: SparkHost | None = None
        self.notices: list[str] = []

    def sizes(self) -> dict[str, int]:
        """Asked for once in every batch, after the answers and before the commit."""
        assert self.host is not None
        number = self.host.driver.begun
        if number == self.dies:
            raise Killed
        if (text := self.changes.pop(number, None)) is not None:
            self.session.execute(text)
            self.host.change(self.session.job())
        return {}


def go(spark, folder: Path, script: str, changes: dict[int, str], dies: int | None) -> Changing:
    session = Database(base=str(folder), tell=lambda text: None)
    session.pin("batch_rows", "20")
    session.execute(script)
    kept = Changing(session, changes, dies)
    host = SparkHost(
        spark,
        session.job(),
        lambda commit: [kept],
        str(folder / "checkpoint"),
        tell=lambda notice: kept.notices.append(notice.message),
    )
    host.place = lambda number, tasks: DRIVER if number % 3 == 1 else EXECUTORS
    kept.host = host
    if dies is None:
        host.run()
    else:
        with pytest.raises(Killed):
            host.run()
    return kept


def test_queries_come_and_go_and_a_job_is_killed_where_they_open(spark, folder: Path) -> None:
    go(spark, folder, STREAMS + TOTALS, {2: SIZES + WIDE}, dies=3)  # killed where they open
    kept = go(spark, folder, STREAMS + TOTALS + SIZES + WIDE, {5: "DROP VIEW wide;"}, dies=None)
    expected = run_script(STREAMS + TOTALS + SIZES, folder)
    found = kept.tables()
    for name in ("totals", "sizes"):
        assert found[name].to_pylist() == expected[name].to_pylist()
    assert "wide" not in found
    job = kept.host.job
    assert {q.name: q.joined for q in job.queries} == {"totals": "", "sizes": ""}
    assert any('"wide"' in notice and "fresh" in notice for notice in kept.notices)
    assert any('"sizes"' in notice and "what runs already" in notice for notice in kept.notices)
