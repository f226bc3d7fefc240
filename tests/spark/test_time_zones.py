"""Spark's TIMESTAMP is an instant, whatever zone the session shows it in; TIMESTAMP_NTZ is not."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import millstream

pytestmark = pytest.mark.spark

# In New York the clocks go back from 02:00 to 01:00 at 06:00Z: 01:30 is there twice.
MICROS = [1_730_611_800_000_000 + hour * 3_600_000_000 for hour in range(3)]
UTC = [dt.datetime(2024, 11, 3, hour, 30) for hour in (5, 6, 7)]


@pytest.fixture(params=["America/New_York", "Asia/Kathmandu"])
def session(spark, request):
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", request.param)
    return other


def _frame(session, folder: Path):
    """Instants, and the same digits as times without a zone, as a stream."""
    if not (folder / "rows.csv").exists():
        folder.mkdir(exist_ok=True)
        rows = [f"{m},{t.isoformat(' ')},{i}\n" for i, (m, t) in enumerate(zip(MICROS, UTC))]
        (folder / "rows.csv").write_text("".join(rows))
    raw = session.readStream.schema("micros bigint, wall string, n bigint").csv(str(folder))
    return raw.selectExpr(
        "timestamp_micros(micros) AS at", "CAST(wall AS timestamp_ntz) AS wall", "n"
    )


def _read_back(session, frame, folder: Path):
    writer = frame.writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.option("checkpointLocation", str(folder / "offsets"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return session.read.parquet(str(folder / "out"))


def test_an_instant_is_utc_and_a_time_without_zone_stays(session, tmp_path: Path) -> None:
    db = millstream.connect(spark=session)
    db.stream("s", _frame(session, tmp_path / "in"), order_by="at")
    query = db.query("SELECT at, wall FROM s")
    db.run()
    assert query.table().column("at").to_pylist() == UTC
    assert query.table().column("wall").to_pylist() == UTC
    assert query.table().column("ts").to_pylist() == UTC


def test_a_table_has_its_changes_at_instants(session, tmp_path: Path) -> None:
    frame = _frame(session, tmp_path / "in").selectExpr("'+' AS op", "at AS ts", "n", "at")
    db = millstream.connect(spark=session)
    db.table("t", frame, key=["n"])
    query = db.query("SELECT STREAMED n, at FROM t")
    db.run()
    rows = query.table().to_pylist()
    assert [(row["ts"], row["at"], row["n"]) for row in rows] == [
        (at, at, i) for i, at in enumerate(UTC)
    ]


def test_what_goes_out_is_the_instant_that_came_in(session, tmp_path: Path) -> None:
    db = millstream.connect(spark=session, checkpoint=str(tmp_path / "checkpoint"))
    db.stream("s", _frame(session, tmp_path / "in"), order_by="at")
    frame = db.query("SELECT at, n FROM s").dataframe()
    assert dict(frame.dtypes) == {"ts": "timestamp", "at": "timestamp", "n": "bigint"}
    db.run()
    back = _read_back(session, frame, tmp_path).selectExpr("unix_micros(at) m", "unix_micros(ts) t")
    assert sorted((row.m, row.t) for row in back.collect()) == [(m, m) for m in MICROS]


def test_arrays_of_instants_go_out_too(session, tmp_path: Path) -> None:
    db = millstream.connect(spark=session, checkpoint=str(tmp_path / "checkpoint"))
    db.stream("s", _frame(session, tmp_path / "in"), order_by="at")
    frame = db.query("SELECT STREAMED array_agg(at) AS ats FROM s [Rows 3]").dataframe()
    db.run()
    back = _read_back(session, frame, tmp_path).selectExpr("transform(ats, t -> unix_micros(t)) m")
    assert max(row.m for row in back.collect()) == MICROS


def test_a_length_in_months_is_no_interval(spark) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("INTERVAL '3' MONTH AS term")
    with pytest.raises(millstream.MillstreamError, match="interval month"):
        millstream.connect(spark=spark).stream("s", frame)


def test_lists_are_told_to_be_selected_as_text(spark) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("array(value) AS tags")
    with pytest.raises(millstream.MillstreamError) as error:
        millstream.connect(spark=spark).stream("s", frame)
    assert error.value.hint == "Select to_json(tags) for its JSON text, or a field of it."


def test_a_session_of_times_without_zone_gets_such(session, tmp_path: Path) -> None:
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    db = millstream.connect(spark=session, checkpoint=str(tmp_path / "checkpoint"))
    db.stream("s", _frame(session, tmp_path / "in"), order_by="wall")
    frame = db.query("SELECT wall FROM s").dataframe()
    assert dict(frame.dtypes) == {"ts": "timestamp_ntz", "wall": "timestamp_ntz"}
    db.run()
    back = _read_back(session, frame, tmp_path)
    assert sorted(row.wall for row in back.collect()) == UTC
