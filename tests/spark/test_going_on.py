"""A connection on Spark: runs go on where the one before has ended, and end as they should."""

from __future__ import annotations

from pathlib import Path

import pytest

import millstream
from api.test_connection import BIDS, COUNT, more, wait

pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bids.csv").write_text("t,item,price\n1,lamp,20\n2,vase,5\n3,lamp,30\n")
    return tmp_path


def test_stop_and_start_go_on_and_a_callback_that_raises_ends_alone(spark, folder: Path) -> None:
    told: list[int] = []
    with millstream.connect(spark=spark, base=str(folder)) as db:
        db.execute(BIDS)
        count, dear = db.query(COUNT), db.query("SELECT t, price FROM bids WHERE price > 5")
        dear.subscribe(lambda rows: rows.column("no such column"))
        dear.subscribe(lambda rows: told.extend(rows.column("t").to_pylist()))
        db.start()
        wait(lambda: len(told) == 1, 60)
        assert len(dear.errors) == 1
        db.stop()
        more(folder, "4,kite,9\n5,kite,4\n")
        db.start()
        wait(lambda: len(told) == 3, 60)
        db.stop()
        assert told == [1, 3, 4] and len(dear.errors) == 1
        db.run(close=True)
        assert told == [1, 3, 4]
        assert {"item": "kite", "n": 2} in count.table().to_pylist()
        kept = Path(db._folder)
    assert not kept.exists()
    with pytest.raises(millstream.MillstreamError, match="the connection is closed"):
        count.table()


def test_run_twice_reads_what_is_new_and_closes_what_is_open(spark, folder: Path) -> None:
    with millstream.connect(spark=spark, base=str(folder)) as db:
        db.execute(BIDS)
        left = db.query("SELECT Dstream(t) FROM bids [Range 5]")
        db.run()
        assert [n.message for n in db.notices if "open" in n.message] == [
            "1 window is still open at the end of the input"
        ]
        more(folder, "4,vase,9\n")
        db.run(close=True)
        assert left.table().to_pylist() == [{"ts": t + 6, "t": t} for t in (1, 2, 3, 4)]


def test_one_run_at_a_time_and_another_host_on_a_checkpoint(spark, folder: Path) -> None:
    checkpoint = str(folder / "checkpoint")
    with millstream.connect(spark=spark, base=str(folder), checkpoint=checkpoint) as db:
        db.execute(BIDS)
        bids = db.query("SELECT t FROM bids")
        db.start()
        wait(lambda: bids.table().num_rows > 0, 60)
        with millstream.connect(host="local", base=str(folder), checkpoint=checkpoint) as other:
            other.execute(BIDS)
            other.query("SELECT t FROM bids")
            with pytest.raises(millstream.MillstreamError, match="is in use by process"):
                other.run()
            db.stop()
            with pytest.raises(millstream.MillstreamError, match="was made by the spark host"):
                other.run()


def test_another_dataframe_begins_everything_anew(spark, folder: Path) -> None:
    """Spark goes on only with the sources that it had."""
    (folder / "in").mkdir()
    (folder / "in" / "a.csv").write_text("t,item,price\n1,lamp,20\n2,vase,5\n")
    reader = spark.readStream.schema("t bigint, item string, price bigint")
    frame = reader.option("header", "true").csv(str(folder / "in"))
    with millstream.connect(spark=spark, base=str(folder)) as db:
        db.stream("a", frame, order_by="t")
        first = db.query("SELECT t FROM a")
        db.run()
        (folder / "in" / "b.csv").write_text("t,item,price\n3,lamp,20\n4,vase,5\n")
        db.run()
        assert first.table().column("t").to_pylist() == [1, 2, 3, 4]
        db.stream("b", frame, order_by="t")
        second = db.query("SELECT t FROM b")
        db.run()
        assert any("everything is read again" in n.message for n in db.notices)
        assert second.table().column("t").to_pylist() == [1, 2, 3, 4]
        assert first.table().column("t").to_pylist() == [1, 2, 3, 4]


@pytest.mark.parametrize("part", ["spark", "state", "job"])
def test_what_cannot_be_written_is_an_ordinary_error(spark, folder: Path, part: str) -> None:
    """A file stands where a folder of the checkpoint is to be: nobody can write there, root
    neither."""
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / part).write_text("in the way")
    settings = {"placement": "executors"}
    with millstream.connect(
        spark=spark, base=str(folder), checkpoint=str(checkpoint), settings=settings
    ) as db:
        db.execute(BIDS)
        db.query(COUNT)
        with pytest.raises(millstream.MillstreamError, match=str(checkpoint / part)):
            db.run()
        (checkpoint / part).unlink()
        db.run()
