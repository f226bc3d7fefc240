"""From Python: a folder that is empty at first, inferred columns, and times in seconds."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path

import pytest

import millstream
from millstream.errors import MillstreamError

pytestmark = pytest.mark.spark
DECLARED = "CREATE STREAM s (t int, name string) ORDER BY t SOURCE 'in'"


def test_a_folder_that_is_empty_at_first(spark, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    db = millstream.connect(spark=spark, base=str(tmp_path))
    db.execute(DECLARED)
    names = db.query("SELECT name FROM s")
    with pytest.raises(MillstreamError, match='folder "in" has no files'):
        db.run()
    db.start()
    (tmp_path / "in" / "1.csv").write_text("t,name\n1,lamp\n2,vase\n3,clock\n")
    until = time.monotonic() + 60
    while names.table().num_rows < 2 and time.monotonic() < until:
        time.sleep(0.1)
    db.stop()
    assert names.table().column("name").to_pylist()[:2] == ["lamp", "vase"]


def test_a_folder_that_is_not_there_is_still_a_fault(spark, tmp_path: Path) -> None:
    db = millstream.connect(spark=spark, base=str(tmp_path))
    with pytest.raises(MillstreamError, match='file "in" does not exist'):
        db.execute(DECLARED)


@pytest.mark.slow
def test_inferred_columns_and_seconds_on_a_checkpoint(spark, tmp_path: Path) -> None:
    """A file that has grown until its sample looks otherwise is the same stream."""
    data = tmp_path / "s.csv"
    data.write_text("t,x\n60,1\n65,2\n")
    script = (
        "CREATE STREAM s ORDER BY t SECONDS SOURCE 's.csv';"
        "CREATE VIEW v AS SELECT STREAMED count(*) AS n FROM s [Range 1 Minute]"
    )
    told = []
    for more in ("", "70,half\n200,4\n"):
        with data.open("a") as file:
            file.write(more)
        db = millstream.connect(
            spark=spark, base=str(tmp_path), checkpoint=str(tmp_path / "checkpoint")
        )
        view = db.execute(script)[0]
        told += [notice.message for notice in db.notices]
        db.run()
    assert "are inferred from" in told[0] and "(t bigint, x bigint) ORDER BY t SECONDS" in told[0]
    assert "are those that the checkpoint began with" in told[1]
    assert [(r["op"], r["ts"].timestamp() % 1000, r["n"]) for r in rows_of(view)] == [
        ("+", 60, 1),
        ("u", 65, 2),
        ("u", 120.000001, 1),
        ("u", 125.000001, 0),
        ("u", 200, 1),
    ]


def rows_of(query) -> list[dict]:
    rows = query.table().to_pylist()
    return [{**row, "ts": row["ts"].replace(tzinfo=dt.UTC)} for row in rows]


def test_a_dataframe_in_seconds(spark, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("60,a\n65,b\n200,c\n")
    frame = spark.readStream.schema("t bigint, name string").csv(str(tmp_path / "in"))
    db = millstream.connect(spark=spark)
    db.stream("s", frame, order_by="t seconds", slack="5 seconds", ahead="1 hour")
    counts = db.query("SELECT Rstream(count(*) AS n) FROM s [Range 1 Minute]")
    db.run()
    found = [(row["ts"].isoformat(), row["n"]) for row in counts.table().to_pylist()]
    assert found == [
        ("1970-01-01T00:01:00", 1),
        ("1970-01-01T00:01:05", 2),
        ("1970-01-01T00:02:00.000001", 1),
        ("1970-01-01T00:02:05.000001", 0),
        ("1970-01-01T00:03:20", 1),
    ]
    with pytest.raises(MillstreamError, match="takes no unit"):
        db.stream("other", frame, order_by="current_time seconds")
    with pytest.raises(MillstreamError, match='column "t parsecs" does not exist'):
        db.stream("other", frame, order_by="t parsecs")
