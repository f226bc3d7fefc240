"""db.read: any SQL over what results hold, while the job runs, after it, as it is and as it was."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import Any

import pytest

import millstream
from api.test_connection import BIDS, folder, more, wait
from millstream.errors import MillstreamError

__all__ = ["folder"]

VIEWS = """
CREATE VIEW totals AS SELECT item, sum(price) AS total, count(*) AS n FROM bids GROUP BY item;
CREATE VIEW recent AS SELECT COMPLETE item, price FROM bids [Range 1];
CREATE VIEW changes AS SELECT STREAMED item FROM bids [Range 1];
CREATE VIEW dear AS SELECT item FROM bids WHERE price > 10;
CREATE TABLE makers (item string, maker string) KEY (item);
INSERT INTO makers VALUES ('lamp', 'ann'), ('vase', 'bob');
CREATE STREAM items OVER bids KEY item;
SELECT max(total) AS most FROM totals;
"""
LAMP, VASE = ("lamp", 50, 2), ("vase", 5, 1)

READ: dict[str, list[tuple[Any, ...]]] = {
    "SELECT * FROM totals": [LAMP, VASE],
    "totals UNION ALL SELECT item, price, 0 FROM recent": [
        ("lamp", 30, 0),
        LAMP,
        ("vase", 5, 0),
        VASE,
    ],
    "SELECT * FROM totals WHERE item = 'lamp'": [LAMP],
    "SELECT n FROM totals WHERE 'vase' = item AND n < 2": [(1,)],
    "SELECT item FROM totals WHERE item = 'cup'": [],
    "SELECT item FROM totals ORDER BY total": [("vase",), ("lamp",)],
    "SELECT item FROM totals ORDER BY n DESC LIMIT 1 OFFSET 1": [("vase",)],
    "SELECT item FROM totals LIMIT 1": [("lamp",)],
    "SELECT count(*), sum(total) FROM totals": [(2, 55)],
    "SELECT count(*) FROM totals WHERE n > 9": [(0,)],
    "SELECT n, count(*) FROM totals GROUP BY n HAVING n > 1": [(2, 1)],
    "SELECT DISTINCT n > 0 FROM totals": [(True,)],
    "SELECT t.item, maker FROM totals t JOIN makers USING (item) WHERE n = 2": [("lamp", "ann")],
    "SELECT item FROM totals WHERE total > (SELECT avg(total) FROM totals)": [("lamp",)],
    "SELECT item FROM makers WHERE item NOT IN (SELECT item FROM recent WHERE price < 10)": [
        ("lamp",)
    ],
    "WITH x AS (SELECT n FROM totals) SELECT max(n) FROM x": [(2,)],
    "SELECT most FROM q1": [(50,)],
    "SELECT item FROM (SELECT item, n + 1 AS m FROM totals) s WHERE m = 3": [("lamp",)],
    "TABLE makers EXCEPT SELECT item, 'ann' FROM totals": [("vase", "bob")],
    # Now is 3, the instant of the last row.
    "SELECT item FROM totals WHERE n + 1 >= Now": [("lamp",)],
    "SELECT item FROM totals WHERE (Now - n) * (Now - n) > 1": [("vase",)],
    "SELECT item FROM totals WHERE Now % 3 = 0 ORDER BY item": [("lamp",), ("vase",)],
    "SELECT item FROM totals WHERE n = (SELECT max(n) FROM totals WHERE n < Now - 1)": [("vase",)],
}


def rows(db: millstream.Connection, text: str, **options: Any) -> list[tuple[Any, ...]]:
    table = db.read(text, **options)
    return list(zip(*(column.to_pylist() for column in table.columns)))


@pytest.fixture
def db(folder: Path) -> millstream.Connection:
    connection = millstream.connect(host="local", base=str(folder))
    connection.execute(BIDS + VIEWS)
    connection.run()
    return connection


@pytest.mark.parametrize("text", READ)
def test_any_query(db: millstream.Connection, text: str) -> None:
    assert rows(db, text) == READ[text]


ERRORS = {
    "SELECT * FROM total": 'view or table "total" does not exist',
    "SELECT * FROM bids": 'stream "bids" has no content: its rows come and go by',
    "SELECT * FROM dear": 'view "dear" has no content: its rows come and go by',
    "SELECT * FROM items": 'stream "items" keeps its rows for the queries that read it, and is no '
    "result",
    "SELECT * FROM R(items)": 'stream "items" keeps its rows for the queries that read it, and is '
    "no result",
    "SELECT * FROM bids.late": 'stream "bids.late" has no content: its rows come and go by',
    "SELECT * FROM changes": 'view "changes" is STREAMED: its changes are emitted, and its content '
    "is not kept",
    "SELECT * FROM totals [Rows 1]": 'view "totals" is a relation, and a window needs a stream',
    "SELECT nn FROM totals": 'column "nn" does not exist in "totals"',
    "SELECT STREAMED n FROM totals": "a query that is read once has no changes to be STREAMED",
    "SELECT Istream(n) FROM totals": "a query that is read once gives rows that are there, and "
    "this one gives a stream",
    "SELECT n FROM totals AS OF 1": 'AS OF 1 lies before what is kept of view "totals": that '
    "begins at 3",
    "SELECT n FROM totals AS OF 9": 'AS OF 9 lies ahead: view "totals" stands at 3',
    "SELECT n FROM totals AS OF '2024-05-01'": "AS OF '2024-05-01' is no number, and view "
    '"totals" counts the units of an integer column',
    "SELECT * FROM bids AS OF 2": 'stream "bids" has no content: its rows come and go by',
    "SELECT 1; SELECT 2": "one query is read at a time, and the text has 2 statements",
    "DROP VIEW totals": "one query is read at a time, and the text is no query",
    "": "one query is read at a time, and the text has none statements",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(db: millstream.Connection, text: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        db.read(text)
    assert caught.value.message == ERRORS[text]
    assert caught.value.hint
    assert caught.value.place is not None or not text


def test_before_the_first_batch(folder: Path) -> None:
    with millstream.connect(host="local", base=str(folder)) as db:
        db.execute(BIDS + VIEWS)
        assert rows(db, "SELECT maker FROM makers WHERE item = 'vase'") == [("bob",)]
        with pytest.raises(MillstreamError, match='view "totals" has no content yet'):
            db.read("SELECT * FROM totals")


def test_a_view_that_came_later_has_no_content_yet(db: millstream.Connection) -> None:
    db.execute("CREATE VIEW later AS SELECT count(*) AS n FROM bids [Range 1]")
    with pytest.raises(MillstreamError, match='view "later" has no content yet'):
        db.read("SELECT * FROM later")
    db.drop("q1")
    with pytest.raises(MillstreamError, match='"q1" does not exist'):
        db.read("SELECT * FROM q1")


def test_from_other_threads_while_it_runs(folder: Path) -> None:
    """Both views have the same rows at every instant, so they have whenever they are read."""
    settings = {"batch_rows": 1}
    text = (
        "SELECT a.n AS n, b.n AS m FROM (SELECT sum(n) AS n FROM totals) a, "
        "(SELECT count(*) AS n FROM every) b"
    )
    with millstream.connect(host="local", base=str(folder), settings=settings) as db:
        db.execute(BIDS + VIEWS + "CREATE VIEW every AS SELECT COMPLETE price FROM bids;")
        db.start()
        wait(lambda: db.metrics().batches > 1)
        seen, failed = set(), []

        def look() -> None:
            try:
                while db.is_running and max(seen, default=(0,))[0] < 200:
                    seen.update(rows(db, text))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        more(folder, "".join(f"{t},lamp,1\n" for t in range(4, 210)))
        for thread in threads:
            thread.join(60)
        assert not failed
        assert len(seen) > 3 and all(n == m for n, m in seen)
        db.stop()
        assert rows(db, text)[0][0] >= 200


def test_past_and_restarts(folder: Path, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "kept")
    for round, instants in enumerate((range(1, 3), range(1, 6))):
        settings = {"history": "100"}
        with millstream.connect(
            host="local", base=str(folder), checkpoint=checkpoint, settings=settings
        ) as db:
            db.execute(BIDS + VIEWS)
            db.run()
            totals = "SELECT sum(total) AS s FROM totals"
            by_instant = {1: 20, 2: 25, 3: 55, 4: 56, 5: 56, 6: 66}
            for instant in instants:
                assert rows(db, totals, as_of=instant) == [(by_instant[instant],)], round
            assert rows(db, "SELECT a.n - b.n FROM totals a JOIN totals AS OF 1 b USING (item)")
        more(folder, "4,cup,1\n6,cup,10\n")


def test_history_that_was_set_later_begins_then(folder: Path, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "kept")
    for settings in ({}, {"history": "100"}, {"history": "100", "strategy": "negative"}):
        with millstream.connect(
            host="local", base=str(folder), checkpoint=checkpoint, settings=settings
        ) as db:
            db.execute(BIDS + VIEWS)
            db.run()
            last = rows(db, "SELECT sum(total) FROM totals")[0][0]
            if settings:
                with pytest.raises(MillstreamError, match="lies before what is kept"):
                    db.read("SELECT * FROM totals AS OF 1")
                assert rows(db, "SELECT sum(total) FROM totals AS OF 3") == [(55,)]
        more(folder, f"{last + 4},cup,1\n")


def test_timestamps(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("at,x\n2024-05-01 10:00:00,1\n2024-05-01 10:30:00,2\n")
    settings = {"history": "1 hour"}
    with millstream.connect(host="local", base=str(tmp_path), settings=settings) as db:
        db.execute("CREATE STREAM s (at timestamp, x int) ORDER BY at SOURCE 's.csv';")
        db.execute("CREATE VIEW v AS SELECT sum(x) AS x FROM s")
        db.run()
        text = "SELECT x FROM v"
        assert rows(db, text) == [(3,)]
        assert rows(db, f"{text} AS OF '2024-05-01 10:10:00'") == [(1,)]
        assert rows(db, f"{text} FOR SYSTEM_TIME AS OF TIMESTAMP '2024-05-01 10:10:00' w") == [(1,)]
        assert rows(db, text, as_of=dt.datetime(2024, 5, 1, 10, 29)) == [(1,)]
        assert rows(db, text, as_of="2024-05-01T10:30:00") == [(3,)]
        with pytest.raises(MillstreamError, match="is no timestamp") as caught:
            db.read(text, as_of="noon")
        assert caught.value.hint
        with pytest.raises(MillstreamError, match="begins at 2024-05-01 09:30:00") as caught:
            db.read(text, as_of="2024-05-01 09:00:00")
        assert caught.value.detail == "history = 1 hour."


def test_names_at_different_instants(tmp_path: Path) -> None:
    """Two streams that never meet: their results are read at the lesser instant, or not."""
    (tmp_path / "a.csv").write_text("t\n1\n2\n9\n")
    (tmp_path / "b.csv").write_text("t\n1\n2\n3\n")
    text = "SELECT a.n AS a, b.n AS b FROM a, b"
    for settings in ({}, {"history": "100"}):
        with millstream.connect(host="local", base=str(tmp_path), settings=settings) as db:
            for name in ("a", "b"):
                db.execute(f"CREATE STREAM s{name} (t int) ORDER BY t SOURCE '{name}.csv';")
                db.execute(f"CREATE VIEW {name} AS SELECT count(*) AS n FROM s{name}")
            db.start()
            wait(lambda: db.metrics().rows >= 6)
            db.stop()
            assert rows(db, "SELECT n FROM a") == [(2,)]
            if settings:
                assert rows(db, text) == [(2, 2)]
                continue
            with pytest.raises(MillstreamError, match="and another that is read with it at 2"):
                db.read(text)


def test_a_subscriber_that_comes_later_is_told_of_instants(folder: Path) -> None:
    """Until then the result is brought up to date once a batch."""
    with millstream.connect(host="local", base=str(folder)) as db:
        db.execute(BIDS)
        totals = db.query("SELECT item, sum(price) AS total FROM bids GROUP BY item", "totals")
        assert "brought up to date once a batch" in totals.explain("physical")
        db.start()
        wait(lambda: totals.table().num_rows == 2)
        told: list[dict[str, Any]] = []
        totals.subscribe(lambda batch: told.extend(batch.to_pylist()))
        more(folder, "4,lamp,1\n5,lamp,2\n6,cup,9\n7,cup,1\n")
        wait(lambda: any(row["ts"] == 6 for row in told))
        assert "brought up to date once a batch" not in totals.explain("physical")
        db.stop()
    lamps = [(row["op"], row["ts"], row["total"]) for row in told if row["item"] == "lamp"]
    assert lamps[-2:] == [("u", 4, 51), ("u", 5, 53)]
    assert {row["item"] for row in told} == {"lamp", "cup"}
