"""What a run says beside its results: notices, the summary, the log, progress."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.shell import Shell
from millstream.cli.terminal import progress_line, reached
from millstream.database import Database
from millstream.local.host import LocalHost

LOCAL = ("--host", "local")
NO_WINDOW = '-- a, q1: stream "bids" has no window: [Range Unbounded] is used'
REFUSED = [
    '-- stream "bids": 8 rows read, 1 late, 3 bad',
    '--   2 bad: column "price" is not a double (first: row 5, 5,vase,cheap)',
    "--   1 bad: the row has … cells instead of 3 (first: row 6, 6,clock)",
]


def test_a_notice_is_one_line_and_told_once(shell: Shell, bids: Path) -> None:
    views = (
        "CREATE VIEW a AS SELECT item, max(price) AS top FROM bids GROUP BY item;"
        "CREATE VIEW b AS SELECT item FROM a WHERE top > 5;"
        "CREATE VIEW c AS SELECT count(*) AS n FROM b;"
        "SELECT count(*) FROM bids"
    )
    assert shell("run", bids, *LOCAL, "-e", views) == 0
    lines = shell.err.splitlines()
    assert lines[0] == NO_WINDOW
    assert lines[1].startswith("-- a, b, c, q1: rows can leave the answer: it is kept as")
    assert lines[2].startswith("-- a: the state of GROUP BY item grows with every new group (hint:")
    assert lines[3].startswith("-- a: the state of max grows with every new value")
    assert lines[4] == REFUSED[0]


@pytest.mark.parametrize("rows", ["1000", "3", "1"])
def test_the_summary_names_rows_that_were_refused(shell: Shell, bids: Path, rows: str) -> None:
    """Reasons are counted by column and kind, however the input is cut."""
    queries = "SELECT Istream(item) FROM bids [Now]; SELECT item, count(*) FROM bids GROUP BY item"
    assert shell("run", bids, *LOCAL, "--set", f"batch_rows={rows}", "-e", queries) == 0
    assert shell.err.splitlines()[-6:] == [
        *REFUSED,
        '-- query "q1": 4 rows emitted',
        '-- query "q2": 3 rows at the end',
        "-- rows that were refused are in no answer; --out DIR keeps them in files",
    ]
    assert shell("run", bids, *LOCAL, "--out", "answers", "--changes", "-e", queries) == 0
    assert shell.err.splitlines()[-2:] == [
        '-- query "q2": 3 rows at the end, 4 changes emitted',
        "-- rows that were refused are in answers: bids.late.csv, bids.errors.csv",
    ]


def test_streams_and_queries_without_rows_are_in_the_summary(shell: Shell, bids: Path) -> None:
    bids.with_name("bids.csv").write_text("at,item,price\n")
    assert shell("run", bids, *LOCAL, "-e", "SELECT Istream(item) FROM bids [Now]") == 0
    assert shell.err == '-- stream "bids": 0 rows read\n-- query "q1": 0 rows emitted\n'
    database = Database(base=str(bids.parent))
    database.execute(bids.read_text() + "SELECT Istream(item) FROM bids [Now]")
    host = database.start_run(lambda job: _host(job, database), None, follow=False)
    host.run(lambda: True)
    assert str(database.summary) == 'stream "bids": 0 rows read\nquery "q1": 0 rows emitted'


def test_the_three_most_frequent_reasons_are_named(shell: Shell, tmp_path: Path) -> None:
    columns = [f"c{i} int" for i in range(5)]
    (tmp_path / "s.csv").write_text(
        "c0,c1,c2,c3,c4\n" + "x,1,1,1,1\n" * 2 + "1,x,1,1,1\n" + "1,1,x,1,1\n" * 4
        + "1,1,1,x,1\n" * 3 + "1,1,1,1,x\n"
    )  # fmt: skip
    script = tmp_path / "s.sql"
    script.write_text(f"CREATE STREAM s ({', '.join(columns)}) SOURCE 's.csv'")
    assert shell("run", script, *LOCAL) == 0
    assert shell.err.splitlines()[:5] == [
        '-- stream "s": 11 rows read, 11 bad',
        '--   4 bad: column "c2" is not a bigint (first: row 4, 1,1,x,1,1)',
        '--   3 bad: column "c3" is not a bigint (first: row 8, 1,1,1,x,1)',
        '--   2 bad: column "c0" is not a bigint (first: row 1, x,1,1,1,1)',
        "--   2 bad for other reasons",
    ]


def test_the_log_of_a_run(shell: Shell, bids: Path) -> None:
    query = "SELECT Istream(item) FROM bids [Now]"
    assert shell("run", bids, *LOCAL, "--log", "run.log", "-e", query) == 0
    said = [line.split(maxsplit=3)[2:] for line in Path("run.log").read_text().splitlines()]
    assert said[0] == ["INFO", 'query "q1" is registered: SELECT ISTREAM(item) FROM bids [NOW]']
    assert said[1] == ["INFO", "the run starts"]
    assert said[2][1].startswith("batch 0: 8 rows read, 4 emitted, ")
    assert said[3] == ["INFO", "the run has ended"]
    assert said[4] == ["WARNING", 'stream "bids": 8 rows read, 1 late, 3 bad']
    assert said[-1] == ["INFO", 'query "q1": 4 rows emitted']
    assert shell("run", bids, *LOCAL, "--verbose", "-e", query) == 0
    assert 'DEBUG stream "bids" is declared' in shell.err
    assert shell.err.count("8 rows read, 1 late") == 1, "the summary is not said twice"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_log_that_cannot_be_written_is_told_once_and_the_run_goes_on(
    shell: Shell, bids: Path
) -> None:
    query = "SELECT Istream(item) FROM bids [Now]"
    assert shell("run", bids, *LOCAL, "--log", "/dev/full", "-e", query) == 0
    assert shell.err.count("--log cannot write") == 1
    assert '--log cannot write "/dev/full": no space left on device; the run goes on' in shell.err
    assert "Traceback" not in shell.err and "lamp" in shell.out


def test_the_log_in_python(bids: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "millstream"):
        database = Database(base=str(bids.parent))
        database.execute(bids.read_text() + "SELECT item FROM bids")
        host = database.start_run(lambda job: _host(job, database), None, follow=False)
        host.run()
        database.end()
    texts = [record.getMessage() for record in caplog.records]
    assert 'q1: stream "bids" has no window: [Range Unbounded] is used' in texts
    assert 'stream "bids": 8 rows read, 1 late, 3 bad' in texts
    assert str(database.summary).splitlines()[-1] == 'query "q1": 4 rows emitted'
    bad = database.summary.streams["bids"].reasons['column "price" is not a double']
    assert (bad.rows, bad.seq, bad.row) == (2, 5, "5,vase,cheap")


def test_counts_are_those_of_the_run(bids: Path) -> None:
    database = Database(base=str(bids.parent))
    database.execute(bids.read_text() + "SELECT item FROM bids")
    for _ in range(2):
        host = database.start_run(lambda job: _host(job, database), None, follow=False)
        assert database.summary.streams == {}
        host.run()
        database.end()
        assert database.summary.streams["bids"].rows == 8


def _host(job, database: Database) -> LocalHost:
    return LocalHost(job, database.sources(False), [])


def test_progress_is_labelled_and_lag_is_of_live_data_only() -> None:
    def clock(*beats: int) -> SimpleNamespace:
        return SimpleNamespace(beats=dict(enumerate(beats)))

    now = time.time_ns() // 1000
    assert reached(clock()) == "no instant is final yet"
    assert reached(clock(17)) == "final up to 17"
    assert reached(clock(1_714_557_600_000_000)) == "final up to 2024-05-01 10:00:00.000"
    assert reached(clock(now - 2_000_000, now)).startswith("lag 2.")
    report = SimpleNamespace(
        number=4, rows=1000, seconds=1.5, clock=clock(17), state_rows=12, place="driver"
    )
    assert progress_line(report, 5000) == (
        "batch 4: 1,000 rows read in 1,500 ms, 5,000 rows in all, final up to 17, state 12 rows"
    )
    report.place = "executors"
    assert "read in 1,500 ms on executors, 5,000" in progress_line(report, 5000)
