"""Statements while a job runs, on the local host."""

from __future__ import annotations

import pytest

from engine.running import Running
from millstream.errors import MillstreamError

SCRIPT = """
CREATE STREAM s (ts int, item string) ORDER BY ts SOURCE 's.csv';
CREATE TABLE t (item string, price int) KEY (item) WITH (time = 'integer');
INSERT INTO t VALUES ('pen', 1);
CREATE VIEW seen AS SELECT COMPLETE s.ts AS at, price FROM s [Range 1], t WHERE s.item = t.item;
"""


@pytest.fixture
def running(tmp_path):
    write(tmp_path, "ts,item", "1,pen", "2,pen", "3,pen")
    run = Running(SCRIPT, tmp_path, tmp_path / "checkpoint")
    yield run
    run.session.end()


def write(folder, *lines: str) -> None:
    with open(folder / "s.csv", "a") as file:
        file.writelines(f"{line}\n" for line in lines)


def test_a_table_that_nothing_happens_to_does_not_hold_back_the_stream(running):
    running.until("seen", [{"at": 1, "price": 1}, {"at": 2, "price": 1}])


def test_changes_take_part_at_their_time(running, tmp_path):
    running.until("seen", [{"at": 1, "price": 1}, {"at": 2, "price": 1}])
    running.execute("UPDATE t SET price = price + 4 WHERE item = 'pen' AT 5")
    write(tmp_path, "4,pen", "5,pen", "6,pen", "7,cup")
    running.until("seen", [{"at": 5, "price": 5}, {"at": 6, "price": 5}])
    running.execute("DELETE FROM t AT 8; INSERT INTO t VALUES ('cup', 9) AT 8")
    write(tmp_path, "9,pen")
    running.until("seen", [{"at": 7, "price": 9}])


def test_a_change_before_the_heartbeat_is_late(running):
    running.until("seen", [{"at": 1, "price": 1}, {"at": 2, "price": 1}])
    running.execute("DELETE FROM t AT 1")
    while not sum(part.num_rows for part in running.kept.parts.get("t.late", [])):
        running.host.batch()
    assert running.found("seen")


def test_a_query_that_is_added_begins_with_the_table_as_it_is(running, tmp_path):
    running.execute("INSERT INTO t VALUES ('ink', 2) AT 3; UPDATE t SET price = 7 AT 50")
    write(tmp_path, "4,pen", "5,pen", "6,pen")
    running.until("seen", [{"at": 4, "price": 1}, {"at": 5, "price": 1}])
    running.execute("CREATE VIEW now AS SELECT COMPLETE s.ts AS at, t.item FROM s [Now], t")
    write(tmp_path, "8,pen", "9,pen")
    running.until("now", [{"at": 8, "item": "ink"}, {"at": 8, "item": "pen"}])


def test_a_table_made_meanwhile(running, tmp_path):
    running.execute("CREATE TABLE more (item string) WITH (time = 'integer')")
    running.execute("INSERT INTO more VALUES ('pen') AT 5")
    running.execute(
        "CREATE VIEW both AS SELECT COMPLETE s.ts AS at FROM s [Now] JOIN more USING (item)"
    )
    write(tmp_path, "6,pen", "7,pen")
    running.until("both", [{"at": 6}])


def test_what_cannot_be_done(running):
    with pytest.raises(MillstreamError, match="needs a time while the job runs"):
        running.session.execute("DELETE FROM t")
    running.session.execute("CREATE TABLE still (a int); SELECT count(*) FROM still;")
    with pytest.raises(MillstreamError, match='is read by query "q1"'):
        running.session.execute("INSERT INTO still VALUES (1) AT 9")
