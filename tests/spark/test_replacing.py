"""CREATE OR REPLACE in a job that runs on Spark, from Python."""

import threading
from pathlib import Path

import pytest

import millstream
from millstream.database.events import BatchFinished

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM bids (item bigint, price double, ts bigint) ORDER BY ts SOURCE 'bids.csv';
CREATE VIEW totals AS SELECT item, count(*) AS n FROM bids GROUP BY item;
CREATE VIEW part AS SELECT item, n FROM totals WHERE item = 1;
CREATE VIEW last AS SELECT sum(n) AS n FROM part;
"""


def write(folder: Path, first: int, last: int) -> None:
    with (folder / "bids.csv").open("a") as file:
        file.writelines(f"{i % 3},{i}.5,{i}\n" for i in range(first, last))


def test_a_view_is_replaced_while_the_job_runs(spark, tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("item,price,ts\n")
    write(tmp_path, 0, 30)
    db = millstream.connect(spark=spark, base=str(tmp_path))
    handles = {handle.name: handle for handle in db.execute(SCRIPT)}
    seen = threading.Semaphore(0)
    db.database.events.subscribe(lambda event: seen.release(), BatchFinished)
    db.start()
    try:
        assert seen.acquire(timeout=60)
        with pytest.raises(millstream.MillstreamError, match='view "last" reads it'):
            db.execute("CREATE OR REPLACE VIEW part AS SELECT item FROM totals;")
        db.execute("CREATE OR REPLACE VIEW part AS SELECT item, n, 'new' AS a FROM totals;")
        assert handles["last"].life == "running" and handles["part"].life == "dropped"
        write(tmp_path, 30, 61)
        while handles["totals"].table().to_pylist()[0]["n"] < 20:
            assert seen.acquire(timeout=60)
    finally:
        db.stop()
    assert handles["last"].table().to_pylist() == [{"n": 60}], "of all items, from the beginning"
    assert [(row["item"], row["n"]) for row in handles["totals"].table().to_pylist()] == [
        (0, 20),
        (1, 20),
        (2, 20),
    ]
