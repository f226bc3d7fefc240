"""Who carries a batch does not matter: Spark's executors, or the process of the driver."""

from pathlib import Path

import pytest

from millstream.database import Database
from millstream.engine.placement import DRIVER, EXECUTORS
from millstream.spark.host import SparkHost
from millstream.testing.run import KeptResults, run_script

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM bids (ts bigint, item bigint, price bigint) ORDER BY ts SLACK 2 SOURCE 'bids.csv';
CREATE STREAM sold (ts bigint, item bigint) ORDER BY ts SOURCE 'sold.csv';
CREATE VIEW totals AS SELECT item, count(*) AS n, sum(price) AS total FROM bids [Range 9]
  GROUP BY item;
CREATE VIEW sizes AS SELECT STREAMED n, count(*) AS items FROM totals GROUP BY n;
SELECT STREAMED item, price FROM bids [Range 5] b
  WHERE NOT EXISTS (SELECT * FROM sold [Range 7] s WHERE s.item = b.item);
SELECT Istream(max(price) AS top) FROM bids [Rows 10];
"""
CARRIERS = {
    "executors": lambda number, tasks: EXECUTORS,
    "in turn": lambda number, tasks: (DRIVER, EXECUTORS)[number % 2],
    "driver": lambda number, tasks: DRIVER,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bids = [
        f"{t - (6 if t % 17 == 0 else t % 3)},{t * 7 % 11},{t * t % 101}" for t in range(1, 241)
    ]
    sold = [f"{t},{t * 5 % 13}" for t in range(1, 240, 4)]
    (tmp_path / "bids.csv").write_text("\n".join(["ts,item,price", *bids]) + "\n")
    (tmp_path / "sold.csv").write_text("\n".join(["ts,item", *sold]) + "\n")
    return tmp_path


@pytest.mark.parametrize("carrier", CARRIERS)
def test_who_carries_a_batch_does_not_matter(spark, folder: Path, carrier: str) -> None:
    session = Database(base=str(folder), tell=lambda text: None)
    session.pin("batch_rows", "30")
    session.execute(SCRIPT)
    kept = KeptResults()
    job = session.job(frozenset(session.queries))
    host = SparkHost(spark, job, lambda commit: [kept], str(folder / "checkpoint"))
    host.place = CARRIERS[carrier]
    host.run()
    assert host.commit is not None and host.commit.batch >= 7
    expected = run_script(SCRIPT, folder)
    told = kept.tables()
    assert {name: told[name].to_pylist() for name in expected} == {
        name: table.to_pylist() for name, table in expected.items()
    }
    assert told["bids.late"].num_rows > 0
