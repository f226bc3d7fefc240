"""The Python interface on Spark: DataFrames in and out, callbacks, tables, a job that changes."""

import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import millstream
from millstream.database.events import BatchFinished

pytestmark = pytest.mark.spark

DECLARED = (
    "CREATE STREAM bids (item bigint, price double, ts bigint) ORDER BY ts SOURCE 'bids.csv';"
)


@pytest.fixture
def bids(tmp_path: Path) -> Path:
    rows = [f"{i % 3},{i}.5,{i}" for i in range(1, 31)]
    (tmp_path / "bids.csv").write_text("\n".join(["item,price,ts", *rows]) + "\n")
    return tmp_path


def test_a_query_tells_its_defaults_and_its_answer(spark, bids: Path) -> None:
    db = millstream.connect(spark=spark, base=str(bids), settings={"batch_rows": 7})
    db.execute(DECLARED)
    stored = db.query("SELECT item, count(*) AS n FROM bids [Range 8] GROUP BY item")
    stream = db.query("SELECT item, price FROM bids WHERE price > 25")
    told: list[pa.RecordBatch] = []
    stored.subscribe(told.append)
    assert "stored result" in stored.notices[0].message
    db.run()
    assert stored.table().to_pylist() == [{"item": i, "n": 3} for i in range(3)]
    assert stream.table().column("price").to_pylist() == [25.5 + i for i in range(6)]
    changes = pa.Table.from_batches(told).to_pylist()
    assert changes[0] == {"op": "+", "ts": 1, "item": 1, "n": 1}
    # From 9 on one bid comes and one of the same item leaves at once: nothing to tell.
    assert changes[-1] == {"op": "u", "ts": 9, "item": 0, "n": 3}


def test_a_result_is_a_streaming_dataframe(spark, bids: Path, tmp_path: Path) -> None:
    db = millstream.connect(spark=spark, base=str(bids), checkpoint=str(tmp_path / "checkpoint"))
    db.execute(DECLARED)
    query = db.query("SELECT item, sum(price) AS total FROM bids [Rows 10] GROUP BY item")
    frame = query.dataframe()
    assert frame.isStreaming and frame.columns == ["op", "ts", "item", "total"]
    db.run()
    out = str(tmp_path / "frame")
    writer = frame.writeStream.format("parquet").option("path", out)
    writer = writer.option("checkpointLocation", str(tmp_path / "other")).trigger(availableNow=True)
    writer.start().awaitTermination()
    rows = spark.read.parquet(out).orderBy("ts", "item").collect()
    assert rows[0].asDict() == {"op": "+", "ts": 1, "item": 1, "total": 1.5}
    assert len(rows) == 30 + 20  # every arrival changes its group; from the 11th on one leaves too


def test_any_spark_stream_can_be_read(spark, bids: Path) -> None:
    schema = "item bigint, price double, ts bigint"
    folder = bids / "folder"
    folder.mkdir()
    (bids / "bids.csv").rename(folder / "bids.csv")
    frame = spark.readStream.schema(schema).option("header", "true").csv(str(folder))
    db = millstream.connect(spark=spark)
    db.stream("bids", frame, order_by="ts")
    last = db.query("SELECT count(*) AS n, max(price) AS top FROM bids [Range 4]")
    db.run()
    assert last.table().to_pylist() == [{"n": 5, "top": 30.5}]


def test_a_frame_that_does_not_stream_is_refused(spark) -> None:
    db = millstream.connect(spark=spark)
    with pytest.raises(millstream.MillstreamError, match="is not a streaming one"):
        db.stream("numbers", spark.range(5))


def test_queries_come_and_go_while_the_job_runs(spark) -> None:
    db = millstream.connect(spark=spark, settings={"batch_rows": 1000})
    db.execute(
        "CREATE STREAM bids (auction bigint, price double, ts timestamp) ORDER BY ts "
        "SOURCE 'generate:auction?rate=500&seed=3'"
    )
    first = db.query("SELECT count(*) AS n FROM bids")
    db.start()
    try:
        _wait(lambda: _count(first) > 0)
        second = db.query("SELECT count(*) AS n FROM bids")
        third = db.query("SELECT Istream(price) FROM bids WHERE price > 0")
        _wait(lambda: _count(second) > 0 and third.table().num_rows > 0)
        assert _count(first) > _count(second) - 1
        db.drop(third.name)
        seen = _count(first)
        _wait(lambda: _count(first) > seen)
    finally:
        db.stop()


def test_several_threads_register_while_the_job_runs(spark) -> None:
    db = millstream.connect(spark=spark, settings={"batch_rows": 1000})
    db.execute(
        "CREATE STREAM bids (auction bigint, price double, ts timestamp) ORDER BY ts "
        "SOURCE 'generate:auction?rate=500&seed=3'"
    )
    db.query("SELECT count(*) AS n FROM bids", "all_bids")
    db.start()
    made: list[millstream.QueryHandle] = []

    def register(who: int) -> None:
        for turn in range(3):
            made.append(
                db.query(f"SELECT count(*) AS n FROM bids [Rows {10 + turn}]", f"v{who}_{turn}")
            )
        db.drop(f"v{who}_0")

    threads = [threading.Thread(target=register, args=(who,)) for who in range(3)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        kept = [query for query in made if query.life == "running"]
        assert {query.name for query in kept} == {f"v{w}_{t}" for w in range(3) for t in (1, 2)}
        _wait(lambda: all(_count(query) > 0 for query in kept), 180)
    finally:
        db.stop()
    assert {query.life for query in made} == {"registered", "dropped"}


def test_a_subscriber_reads_and_leaves_changes_to_other_threads(spark, bids: Path) -> None:
    db = millstream.connect(spark=spark, base=str(bids), settings={"batch_rows": 10})
    db.execute(DECLARED)
    stored = db.query("SELECT item, count(*) AS n FROM bids GROUP BY item")
    seen: list[int] = []
    refused: list[str] = []

    def look(rows: pa.RecordBatch) -> None:
        seen.append(stored.table().num_rows)
        with pytest.raises(millstream.MillstreamError) as error:
            db.query("SELECT item FROM bids [Now]")
        refused.append(error.value.message)

    stored.subscribe(look)
    finished: list[BatchFinished] = []
    db.database.events.subscribe(finished.append, BatchFinished)
    db.run()
    assert len(seen) == len(refused) >= 3 and seen[-1] == 3
    assert "cannot be changed by a function" in refused[0]
    assert sum(event.report.rows for event in finished) == 30


def _count(query) -> int:
    rows = query.table().to_pylist()
    return rows[0]["n"] if rows else 0


def _wait(condition, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.2)


def test_partitions_side_by_side_do_not_make_each_other_late(spark) -> None:
    frame = spark.readStream.format("rate").option("rowsPerSecond", 50)
    frame = frame.option("numPartitions", 2).load()
    db = millstream.connect(spark=spark)
    db.stream("ticks", frame, order_by="timestamp", slack="1 second")
    count = db.query("SELECT count(*) AS n FROM ticks")
    late = db.query("SELECT count(*) AS n FROM ticks.late")
    db.start()
    try:
        _wait(lambda: _count(count) > 100)
    finally:
        db.stop()
    assert _count(late) == 0
