"""A connection in this process: runs go on, callbacks that raise, what is closed, who has it."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream
from millstream.database.events import Failure

BIDS = "CREATE STREAM bids (t int, item string, price int) ORDER BY t SOURCE 'bids.csv';"
COUNT = "SELECT item, count(*) AS n FROM bids GROUP BY item"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bids.csv").write_text("t,item,price\n1,lamp,20\n2,vase,5\n3,lamp,30\n")
    return tmp_path


def connected(folder: Path, **options) -> millstream.Connection:
    db = millstream.connect(host="local", base=str(folder), **options)
    db.execute(BIDS)
    return db


def more(folder: Path, rows: str) -> None:
    with open(folder / "bids.csv", "a") as file:
        file.write(rows)


def wait(condition, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.02)


@pytest.mark.parametrize("keeps", [False, True])
def test_stop_and_start_go_on(folder: Path, keeps: bool) -> None:
    options = {"checkpoint": str(folder / "checkpoint")} if keeps else {}
    told: list[int] = []
    with connected(folder, **options) as db:
        count, dear = db.query(COUNT), db.query("SELECT t, price FROM bids WHERE price > 5")
        dear.subscribe(lambda rows: told.extend(rows.column("t").to_pylist()))
        db.start()
        wait(lambda: len(told) == 1)  # 3 may still have company
        db.stop()
        more(folder, "4,kite,9\n5,kite,4\n")
        db.start()
        wait(lambda: len(told) == 3)
        db.stop()
        assert told == [1, 3, 4]
        assert dear.table().column("price").to_pylist() == [20, 30, 9]
        assert {"item": "lamp", "n": 2} in count.table().to_pylist()


def test_run_twice_reads_what_is_new(folder: Path) -> None:
    told: list[int] = []
    with connected(folder) as db:
        count = db.query(COUNT)
        all_bids = db.query("SELECT t FROM bids")
        all_bids.subscribe(lambda rows: told.extend(rows.column(1).to_pylist()))
        db.run()
        assert count.table().to_pylist() == [{"item": "lamp", "n": 2}, {"item": "vase", "n": 1}]
        db.run()
        assert told == [1, 2, 3]
        more(folder, "4,vase,9\n")
        db.run()
        assert told == all_bids.table().column("t").to_pylist() == [1, 2, 3, 4]
        assert count.table().to_pylist() == [{"item": "lamp", "n": 2}, {"item": "vase", "n": 2}]


def test_a_query_that_was_dropped_and_made_anew_starts_fresh(folder: Path) -> None:
    """Who drops a query asks for that; its name need not be repeated."""
    with connected(folder) as db:
        db.query("SELECT t, price FROM bids WHERE price > 5", name="picked")
        db.run()
        db.drop("picked")
        picked = db.query("SELECT t, price FROM bids WHERE price > 6", name="picked")
        more(folder, "4,vase,9\n")
        db.run()
        assert picked.table().column("t").to_pylist() == [4]
        db.drop("picked")
        picked = db.query("SELECT t, price FROM bids WHERE price > 6", name="picked")
        more(folder, "5,vase,9\n")
        db.run()
        assert picked.table().column("t").to_pylist() == [5]


def test_a_view_that_is_replaced_between_two_runs_may_get_a_reader(folder: Path) -> None:
    with connected(folder) as db:
        db.run()
        db.execute("CREATE VIEW picked AS SELECT t FROM bids WHERE price > 5;")
        db.execute("CREATE OR REPLACE VIEW picked AS SELECT t FROM bids WHERE price > 6;")
        reader = db.query("SELECT t FROM picked")
        more(folder, "4,vase,9\n")
        db.run()
        assert reader.table().column("t").to_pylist() == [4]


def test_another_query_on_a_checkpoint_is_refused_and_its_log_is_kept(folder: Path) -> None:
    checkpoint = str(folder / "checkpoint")
    with connected(folder, checkpoint=checkpoint) as db:
        db.query("SELECT t FROM bids WHERE price > 5", name="picked")
        db.query(COUNT)
        db.run()
    more(folder, "4,vase,9\n")
    with connected(folder, checkpoint=checkpoint) as db:
        new = db.query("SELECT count(*) AS n FROM bids")
        count = db.query(COUNT)
        assert (new.name, count.name) == ("q2", "q1")
        picked = db.query("SELECT t FROM bids WHERE price > 6", name="picked")
        with pytest.raises(millstream.MillstreamError, match=r'run\(restart=\["picked"\]\)'):
            db.run()
        assert not db.is_running
        db.run(restart=["picked"])
        assert picked.table().column("t").to_pylist() == [4]
        assert count.table().to_pylist() == [{"item": "lamp", "n": 2}, {"item": "vase", "n": 2}]
        kept = [path.name for path in (folder / "checkpoint" / "results").iterdir()]
        assert "picked.1" in kept
        db.start(restart=["picked"])
        db.stop()
        kept = [path.name for path in (folder / "checkpoint" / "results").iterdir()]
        assert {"picked.1", "picked.2"} <= set(kept)


def test_a_callback_that_raises_ends_its_own_subscription(folder: Path, caplog) -> None:
    told: list[int] = []
    raised: list[Exception] = []
    failures: list[Failure] = []

    def wrong(rows: pa.RecordBatch) -> None:
        raise ValueError(f"{rows.num_rows} rows are too many")

    def wrong_again(error: Exception) -> None:
        raised.append(error)
        raise RuntimeError("and this is wrong, too")

    with connected(folder, settings={"batch_rows": 1}) as db, caplog.at_level(logging.ERROR):
        bids = db.query("SELECT t FROM bids")
        db.database.events.subscribe(failures.append, Failure)
        bids.subscribe(wrong, on_error=wrong_again)
        bids.subscribe(lambda rows: told.extend(rows.column("t").to_pylist()))
        db.run()
        assert told == [1, 2, 3]
        assert [str(error) for error in bids.errors] == ["1 rows are too many"]
        assert tuple(raised) == bids.errors == tuple(f.error for f in failures)
        assert bids.life == "registered"
        assert 'a subscriber of query "q1" raised, and gets no more rows' in caplog.text
        assert "on_error of query" in caplog.text
        more(folder, "4,vase,9\n")
        db.run()
        assert told == [1, 2, 3, 4] and len(bids.errors) == 1


def test_a_callback_that_leaves_ends_its_own_subscription(folder: Path) -> None:
    told: list[int] = []
    with connected(folder) as db:
        bids = db.query("SELECT t FROM bids")
        bids.subscribe(lambda rows: sys.exit(3))
        bids.subscribe(lambda rows: told.extend(rows.column("t").to_pylist()))
        db.run()
        assert told == [1, 2, 3] and isinstance(bids.errors[0], SystemExit)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_stream_that_was_dropped_is_not_read_at_the_place_of_another(
    folder: Path, at_once: bool
) -> None:
    other = BIDS.replace("bids.csv", "other.csv")
    (folder / "other.csv").write_text("t,item,price\n" + "1,lamp,20\n" * 9)
    with connected(folder) as db:
        bids = db.query("SELECT t FROM bids", name="all_bids")
        db.start()
        wait(lambda: bids.table().num_rows == 2)
        drop = "DROP QUERY all_bids; DROP STREAM bids;"
        with pytest.raises(millstream.MillstreamError, match="declared differently"):
            for text in [drop + other] if at_once else [drop, other]:
                db.execute(text)
        db.stop()


def test_a_subscriber_stays_when_a_stored_result_becomes_a_stream(folder: Path) -> None:
    told: list[pa.RecordBatch] = []
    with connected(folder) as db:
        db.execute("CREATE VIEW v AS SELECT item, count(*) AS n FROM bids GROUP BY item")
        every = db.query("SELECT * FROM v")
        every.subscribe(told.append)
        db.start()
        wait(lambda: told)
        db.execute("CREATE OR REPLACE VIEW v AS SELECT item, t FROM bids")
        more(folder, "4,kite,9\n5,kite,4\n")
        wait(lambda: any("t" in rows.schema.names and 4 in rows["t"].to_pylist() for rows in told))
        db.stop()


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("last", ["", " WHERE item <> 'lamp'"])
def test_subscribers_get_the_difference_when_a_view_is_replaced(
    folder: Path, running: bool, last: str
) -> None:
    told: Counter[tuple[Any, ...]] = Counter()

    def follow(rows: pa.RecordBatch) -> None:
        for op, _, *row in zip(*(column.to_pylist() for column in rows.columns)):
            told[tuple(row)] += 1 if op == "+" else -1

    with connected(folder) as db:
        db.execute("CREATE VIEW dear AS SELECT item, price FROM bids [Rows 10] WHERE price > 0")
        every = db.query("SELECT item FROM dear")
        every.subscribe(follow)
        db.query("SELECT item, price, price FROM dear", name="wide").subscribe(follow)
        db.start()
        wait(lambda: told.total() == 4)
        if not running:
            db.stop()
        loud = f"SELECT upper(item) AS item, price FROM bids [Rows 10]{last}"
        db.execute(f"CREATE OR REPLACE VIEW dear AS {loud}")
        if not running:
            db.start()
        more(folder, "4,kite,9\n5,kite,4\n")
        wait(lambda: told["KITE",] and told["KITE", 9, 9])
        db.stop()
        items = [row["item"] for row in every.table().to_pylist()]
        assert {row for row in told.elements() if len(row) == 1} == {(item,) for item in items}
        assert min(told.values()) == 0, "what had left before left once"
        assert told.total() == 2 * len(items)


@pytest.mark.parametrize("running", [False, True])
def test_scripts_are_carried_out_as_a_whole_or_not_at_all(folder: Path, running: bool) -> None:
    with connected(folder) as db:
        db.query(COUNT, name="counts")
        if running:
            db.start()
        with pytest.raises(millstream.MillstreamError, match='"nope" does not exist'):
            db.execute(
                "CREATE VIEW a AS SELECT item FROM bids [Now];CREATE VIEW b AS SELECT nope FROM a;"
            )
        with pytest.raises(millstream.MillstreamError, match="one query is expected here"):
            db.query("SELECT t FROM bids; SELECT item FROM bids;")
        with pytest.raises(millstream.MillstreamError):
            db.query("SELECT t FROM bids; SELECT item FROM bids;", name="both")
        assert list(db.database.queries) == ["counts"]
        assert set(db.database.catalog.entries) == {"bids", "counts"}
        assert db.query("SELECT t FROM bids").name == "q1", "no number was used up"


def test_what_is_closed_stays_closed_and_says_so(folder: Path) -> None:
    db = connected(folder)
    count = db.query(COUNT)
    db.run()
    kept = Path(db._folder)
    assert kept.exists()
    db.close()
    db.close()
    db.stop()
    assert not kept.exists() and not db.is_running
    for call in (
        db.run,
        db.start,
        count.table,
        lambda: db.query(COUNT),
        lambda: db.execute(BIDS),
        lambda: db.drop("bids"),
        lambda: count.subscribe(print),
    ):
        with pytest.raises(millstream.MillstreamError, match="the connection is closed"):
            call()


def test_closing_stops_a_run(folder: Path) -> None:
    with connected(folder) as db:
        count = db.query(COUNT)
        db.start()
        wait(lambda: count.table().num_rows > 0)
        assert db.is_running
    assert not db.is_running


def test_hosts_are_checked() -> None:
    with pytest.raises(millstream.MillstreamError, match='host cannot be "locl"'):
        millstream.connect(host="locl")
    with pytest.raises(millstream.MillstreamError, match="has no Spark session"):
        millstream.connect(host="local", master="local[2]")
    db = millstream.connect(host="local")
    with pytest.raises(millstream.MillstreamError, match="cannot be a stream"):
        db.stream("s", None)


def test_a_failed_run_fails_in_stop_and_the_connection_can_go_on(folder: Path) -> None:
    with connected(folder) as db:
        bids = db.query("SELECT t FROM bids")
        db.start()
        wait(lambda: bids.table().num_rows == 2)
        (folder / "bids.csv").rename(folder / "gone.csv")
        wait(lambda: not db.is_running)
        with pytest.raises(millstream.MillstreamError):
            db.stop()
        (folder / "gone.csv").rename(folder / "bids.csv")
        more(folder, "4,vase,9\n")
        db.run()
        assert bids.table().column("t").to_pylist() == [1, 2, 3, 4]


def test_the_end_of_bounded_input(folder: Path) -> None:
    with connected(folder) as db:
        left = db.query("SELECT Dstream(t) FROM bids [Range 5]")
        db.run()
        assert [n.message for n in db.notices if "open" in n.message] == [
            "1 window is still open at the end of the input"
        ]
        assert left.table().num_rows == 0
        db.run(close=True)
        assert left.table().to_pylist() == [{"ts": t + 6, "t": t} for t in (1, 2, 3)]
        assert not [n for n in db.notices if "open" in n.message]
        more(folder, "9,vase,1\n10,vase,1\n")
        db.run(close=True)
        assert left.table().to_pylist()[3:] == [{"ts": 16, "t": 10}], "9 was late, as time had gone"


def test_one_run_at_a_time_on_a_checkpoint(folder: Path) -> None:
    import os

    checkpoint = str(folder / "checkpoint")
    with (
        connected(folder, checkpoint=checkpoint) as one,
        connected(folder, checkpoint=checkpoint) as other,
    ):
        one.query(COUNT)
        other.query(COUNT)
        one.start()
        with pytest.raises(millstream.MillstreamError) as refused:
            other.run()
        assert f'checkpoint "{checkpoint}" is in use by process {os.getpid()} on ' in str(
            refused.value
        )
        one.stop()
        other.run()


def test_a_run_waits_for_streams_that_are_declared_later(folder: Path) -> None:
    with millstream.connect(host="local", base=str(folder)) as db:
        db.start()
        db.execute(BIDS)
        count = db.query(COUNT)
        wait(lambda: count.table().num_rows > 0)
        assert db.is_running


def test_time_goes_on_by_the_clock_while_all_sources_are_silent(tmp_path: Path) -> None:
    """What is due is told without another row."""
    bids = tmp_path / "bids.csv"
    bids.write_text("at,item\n2024-05-01 10:00:00,lamp\n2024-05-01 10:00:01,vase\n")
    told: list[str] = []
    with millstream.connect(host="local", base=tmp_path) as db:
        db.execute(
            "CREATE STREAM bids (at timestamp, item string) ORDER BY at SOURCE 'bids.csv' "
            "WITH (idle = '200 milliseconds', silence = 'clock');"
        )
        gone = db.query("SELECT Dstream(item) FROM bids [Range 1 Second]")
        gone.subscribe(lambda rows: told.extend(rows.column("item").to_pylist()))
        db.start()
        until = time.monotonic() + 20
        while told != ["lamp", "vase"] and time.monotonic() < until:
            time.sleep(0.02)
        db.stop()
    assert told == ["lamp", "vase"]
