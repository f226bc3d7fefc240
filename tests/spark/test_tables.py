"""Tables on Spark: statements while a job runs, restarts, and changes from a DataFrame."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import millstream

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM bids (ts int, item string, n int) ORDER BY ts SOURCE 'bids.csv';
CREATE TABLE prices (item string, price int) KEY (item);
INSERT INTO prices VALUES ('pen', 10);
INSERT INTO prices VALUES ('ink', 5) AT 3;
CREATE VIEW total AS
  SELECT sum(n * price) AS total FROM bids b JOIN prices p ON b.item = p.item;
CREATE VIEW late AS SELECT op, item FROM prices.late;
"""


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that the job in the background will bring about."""
    end = time.monotonic() + 150
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def bid(folder: Path, *lines: str) -> None:
    with open(folder / "bids.csv", "a") as file:
        file.writelines(f"{line}\n" for line in lines)


def test_statements_are_fed_to_a_running_job_and_a_new_run_goes_on(spark, tmp_path: Path) -> None:
    def opened() -> millstream.Database:
        settings = {"buckets": 2}
        checkpoint = str(tmp_path / "checkpoint")
        return millstream.connect(spark, None, checkpoint, settings, str(tmp_path))

    bid(tmp_path, "ts,item,n", "1,pen,1", "2,pen,2", "5,ink,3")
    with opened() as db:
        total, late = db.execute(SCRIPT)
        db.start()
        until(lambda: total.table().to_pylist() == [{"total": 30}])
        db.execute("UPDATE prices SET price = price + 1 WHERE item = 'pen' AT 6")
        bid(tmp_path, "7,pen,1", "8,pen,0")
        until(lambda: total.table().to_pylist() == [{"total": 59}])
        db.execute("DELETE FROM prices AT 2")
        until(lambda: late.table().num_rows == 1)
        with pytest.raises(millstream.MillstreamError, match="needs a time while the job runs"):
            db.execute("INSERT INTO prices VALUES ('cup', 1)")
    with opened() as db:
        total, late = db.execute(SCRIPT)
        db.start()
        db.execute("UPDATE prices SET price = price * 2 AT 9")
        bid(tmp_path, "10,pen,1", "11,pen,0")
        until(lambda: total.table().to_pylist() == [{"total": 140}])
        assert late.table().num_rows == 1


def test_a_table_by_the_clock_changes_at_once(spark, tmp_path: Path) -> None:
    with millstream.connect(spark=spark, base=str(tmp_path)) as db:
        db.execute("""
          CREATE TABLE rooms (room string, degrees int) KEY (room) WITH (time = 'current_time');
          INSERT INTO rooms VALUES ('attic', 20);
        """)
        warm = db.query("SELECT room, degrees FROM rooms WHERE degrees > 15")
        db.start()
        until(lambda: warm.table().to_pylist() == [{"room": "attic", "degrees": 20}])
        db.execute(
            "INSERT INTO rooms VALUES ('cellar', 16); UPDATE rooms SET degrees = degrees + 1"
        )
        until(lambda: sorted(warm.table().column("degrees").to_pylist()) == [17, 21])
        db.execute("DELETE FROM rooms WHERE room = 'attic'")
        until(lambda: warm.table().to_pylist() == [{"room": "cellar", "degrees": 17}])


def test_changes_from_a_dataframe(spark, tmp_path: Path) -> None:
    folder = tmp_path / "changes"
    folder.mkdir()
    (folder / "a.csv").write_text("op,ts,item,price\n+,1,pen,10\nu,3,pen,12\n?,4,pen,1\n-,5,pen,\n")
    schema = "op string, ts bigint, item string, price int"
    frame = spark.readStream.schema(schema).option("header", "true").csv(str(folder))
    with millstream.connect(spark=spark) as db:
        db.table("prices", frame, key=["item"])
        told = db.query("SELECT STREAMED * FROM prices")
        bad = db.query("SELECT seq FROM prices.errors")
        db.run()
        rows = [(r["op"], r["ts"], r["item"], r["price"]) for r in told.table().to_pylist()]
        assert rows == [("+", 1, "pen", 10), ("u", 3, "pen", 12), ("-", 5, "pen", None)]
        assert bad.table().num_rows == 1
        with pytest.raises(millstream.MillstreamError, match="exists already"):
            db.table("prices", frame)
        with pytest.raises(millstream.MillstreamError, match='column "op" does not exist'):
            db.table("others", frame.drop("op"))
