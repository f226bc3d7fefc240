"""Metrics: what a run has done so far, as a whole and for one query."""

import time

import pytest

import millstream
from millstream.database.events import BatchFinished, Events, RunStarted
from millstream.database.metrics import Meter, lag_at
from millstream.engine.clock import Clock
from millstream.engine.placement import DRIVER, EXECUTORS
from millstream.engine.report import BatchReport


def report(number: int, seconds: float, place: str) -> BatchReport:
    return BatchReport(number, 10, 3, seconds, Clock.start(), 7, 0, {}, place)


def test_meter_counts_batches_by_place_and_by_seconds():
    events = Events()
    meter = Meter(events)
    for number in range(100):
        place = EXECUTORS if number % 4 == 0 else DRIVER
        events.tell(BatchFinished(report(number, (number + 1) / 100, place)))
    found = meter.metrics()
    assert (found.batches, found.in_driver, found.on_executors) == (100, 75, 25)
    assert (found.rows, found.emitted, found.state_rows) == (1_000, 300, 7)
    assert (found.last, found.highest) == (1.0, 1.0)
    assert found.p50 == pytest.approx(0.505)
    assert found.p90 == pytest.approx(0.901)
    events.tell(RunStarted(follow=False))
    assert meter.metrics().batches == 0


def test_lag_is_that_of_live_timestamps_only():
    now = int(time.time() * 1_000_000)
    assert lag_at(now - 5_000_000) == pytest.approx(5, abs=1)
    assert lag_at(now - 7_200_000_000) is None
    assert lag_at(12) is None
    assert lag_at(None) is None


def test_metrics_of_a_query_are_those_of_its_streams_and_its_result(tmp_path):
    (tmp_path / "bids.csv").write_text("t,price\n1,10\n2,60\n3,70\n")
    (tmp_path / "asks.csv").write_text("t,price\n1,10\n2,60\n")
    with millstream.connect(host="local", base=tmp_path) as db:
        for name in ("bids", "asks"):
            columns = "(t int, price int) ORDER BY t"
            db.execute(f"CREATE STREAM {name} {columns} SOURCE '{name}.csv'")
        high = db.query("SELECT Istream(price) FROM bids WHERE price > 50", name="high")
        db.query("SELECT Istream(price) FROM asks", name="every")
        assert high.metrics().batches == 0
        db.run()
        whole, one = db.metrics(), high.metrics()
    assert whole.batches == whole.in_driver >= 1
    assert (whole.rows, one.rows, one.emitted) == (5, 3, 2)
    assert 0 < one.p50 <= one.p90 <= one.p99 <= one.highest
    assert one.lag is None
