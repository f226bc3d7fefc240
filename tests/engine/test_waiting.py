"""A run that waits says for what: once for every silence, whoever holds the heartbeat back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from millstream.database import Database
from millstream.engine.waiting import SILENCE, Watch
from millstream.errors import Notice
from millstream.local.host import LocalHost

SECOND = 1_000_000
STREAMS = """
CREATE STREAM a (t int, k string) ORDER BY t SOURCE 'a.csv';
CREATE STREAM b (t int, k string) ORDER BY t SOURCE 'b.csv' {idle};
CREATE STREAM c (t int, k string) ORDER BY t SLACK 5 SOURCE 'c.csv';
CREATE VIEW pairs AS SELECT STREAMED a.k FROM a [Range 9] a, b [Range 9] b WHERE a.k = b.k;
CREATE VIEW firsts AS SELECT STREAMED k FROM a [Range 5];
"""
HINT = "Declare it WITH (idle = '30 seconds') if it may be silent while others are not."


class Followed:
    """A job over files that grow, and what its watch says at times that the test chooses."""

    def __init__(self, folder: Path, idle: str = "", more: str = "") -> None:
        self.folder, self.told = folder, list[Notice]()
        for name in "abc":
            (folder / f"{name}.csv").write_text("t,k\n")
        database = Database(base=str(folder))
        database.execute(STREAMS.format(idle=idle) + more)
        self.host = LocalHost(database.job(), database.sources(follow=True), [], follow=True)
        self.now = self.begin = time.time_ns() // 1000
        self.watch = Watch(self.told.append, started=self.begin)

    def arrive(self, stream: str, *rows: int) -> None:
        with (self.folder / f"{stream}.csv").open("a") as file:
            file.writelines(f"{t},x\n" for t in rows)
        assert self.host.batch()
        self.watch.look(self.host.job, self.host.clock, idle=False, now=self.now)

    def nothing_for(self, seconds: int) -> list[str]:
        """So many seconds in which there is nothing to read."""
        for _ in range(seconds):
            self.now += SECOND
            self.watch.look(self.host.job, self.host.clock, idle=True, now=self.now)
        said = [notice.message for notice in self.told]
        self.told.clear()
        return said


def test_a_silent_stream_that_holds_others_is_named_once(tmp_path: Path) -> None:
    run = Followed(tmp_path)
    run.arrive("b", 3)
    run.arrive("a", 1, 2, 8)
    assert run.nothing_for(9) == []
    run.watch.look(run.host.job, run.host.clock, idle=True, now=run.now + 2 * SECOND)
    assert run.told == [
        Notice(
            'waiting for stream "b", silent for 10 s: '
            "no answers of pairs, firsts from 3 on until it speaks or is declared idle",
            HINT,
        )
    ]
    run.told.clear()
    assert run.nothing_for(60) == []
    run.arrive("b", 4)
    (said,) = run.nothing_for(60)
    assert said.endswith(
        "no answers of pairs, firsts from 4 on until it speaks or is declared idle"
    )
    run.arrive("b", 8)
    assert run.nothing_for(60) == [], "nobody is behind now"
    run.arrive("b", 20)
    assert run.nothing_for(60)[0].startswith('waiting for stream "a", silent for')


def test_a_stream_that_never_spoke(tmp_path: Path) -> None:
    run = Followed(tmp_path)
    run.arrive("a", 1)
    assert run.nothing_for(30) == [
        'waiting for stream "b", silent for 10 s: '
        "no answers of pairs, firsts until it speaks or is declared idle"
    ]


def test_a_stream_by_itself_waits_for_later_rows(tmp_path: Path) -> None:
    """Its last rows are not final; that is said once in a run."""
    run = Followed(tmp_path, more="CREATE VIEW own AS SELECT STREAMED k FROM c [Range 5];")
    run.arrive("c", 10)
    assert run.nothing_for(30) == [
        'waiting for stream "c", silent for 10 s: '
        "its rows from 5 on become final when later ones come"
    ]
    run.arrive("c", 11)
    assert run.nothing_for(30) == []


def test_a_stream_that_is_declared_idle_is_not_waited_for(tmp_path: Path) -> None:
    run = Followed(tmp_path, idle="WITH (idle = '2 hours')")
    run.arrive("a", 1)
    assert run.nothing_for(30) == []


def test_a_long_batch_is_no_silence(tmp_path: Path) -> None:
    run = Followed(tmp_path)
    run.arrive("b", 3)
    run.arrive("a", 8)
    run.now += 60 * SECOND
    run.watch.look(run.host.job, run.host.clock, idle=False, now=run.now)
    assert run.told == []


@pytest.mark.slow
def test_a_run_says_it_by_itself(tmp_path: Path) -> None:
    run = Followed(tmp_path)
    (tmp_path / "a.csv").write_text("t,k\n1,x\n5,x\n")
    run.host.watch = Watch(run.told.append, silence=SECOND)
    until = time.monotonic() + 20
    run.host.run(lambda: bool(run.told) or time.monotonic() > until)
    assert run.told[0].message.startswith('waiting for stream "b", silent for 1 s: no answers of')
    assert SILENCE == 10 * SECOND


def test_a_feed_that_goes_by_the_clock_is_followed(tmp_path: Path) -> None:
    """It began when it was first asked, also if it had no rows then."""
    database = Database(base=str(tmp_path))
    database.execute(
        "CREATE STREAM bids (auction bigint, ts timestamp) "
        "ORDER BY ts SOURCE 'generate:auction?rate=200&seed=7'; SELECT Istream(auction) FROM bids"
    )
    host = LocalHost(database.job(), database.sources(follow=True), [], follow=True)
    until = time.monotonic() + 10
    host.run(lambda: host.summary.streams != {} or time.monotonic() > until)
    assert host.summary.streams["bids"].rows > 0
