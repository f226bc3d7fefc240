"""Queries come and go while a job runs on Spark, which is stopped in between."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from millstream.api.frames import stream_of
from millstream.database import Database
from millstream.engine.log import read_log
from millstream.engine.placement import DRIVER, EXECUTORS
from millstream.spark.host import SparkHost
from millstream.testing.run import KeptResults, run_script
from spark import killed
from spark.killed import LATE, MINUTES

pytestmark = pytest.mark.spark

STREAMS = "CREATE STREAM bids (ts bigint, item bigint, price bigint) ORDER BY ts SOURCE 'bids.csv';"
TOTALS = "CREATE VIEW totals AS SELECT item, count(*) AS n FROM bids [Range 9] GROUP BY item;"
SIZES = "CREATE VIEW sizes AS SELECT n, count(*) AS items FROM totals GROUP BY n;"
WIDE = "CREATE VIEW wide AS SELECT item, count(*) AS n FROM bids [Range 5000] GROUP BY item;"


class Killed(Exception):
    """The process is gone in the middle of a batch."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{t},{t * 7 % 11},{t * t % 101}" for t in range(1, 201)]
    (tmp_path / "bids.csv").write_text("\n".join(["ts,item,price", *rows]) + "\n")
    return tmp_path


class Changing(KeptResults):
    """Adds and drops queries when answers of a batch are handed out, while it still runs; and may
    be killed there."""

    def __init__(self, session: Database, changes: dict[int, str], dies: int | None) -> None:
        super().__init__()
        self.session, self.changes, self.dies = session, changes, dies
        self.host: SparkHost | None = None
        self.notices: list[str] = []

    def sizes(self) -> dict[str, int]:
        """Asked for once in every batch, after the answers and before the commit."""
        assert self.host is not None
        number = self.host.driver.begun
        if number == self.dies:
            raise Killed
        if (text := self.changes.pop(number, None)) is not None:
            self.session.execute(text)
            self.host.change(self.session.job())
        return {}


def go(spark, folder: Path, script: str, changes: dict[int, str], dies: int | None) -> Changing:
    session = Database(base=str(folder), tell=lambda text: None)
    session.pin("batch_rows", "20")
    session.execute(script)
    kept = Changing(session, changes, dies)
    host = SparkHost(
        spark,
        session.job(),
        lambda commit: [kept],
        str(folder / "checkpoint"),
        tell=lambda notice: kept.notices.append(notice.message),
    )
    host.place = lambda number, tasks: DRIVER if number % 3 == 1 else EXECUTORS
    kept.host = host
    if dies is None:
        host.run()
    else:
        with pytest.raises(Killed):
            host.run()
    return kept


def test_queries_come_and_go_and_a_job_is_killed_where_they_open(spark, folder: Path) -> None:
    go(spark, folder, STREAMS + TOTALS, {2: SIZES + WIDE}, dies=3)  # killed where they open
    kept = go(spark, folder, STREAMS + TOTALS + SIZES + WIDE, {5: "DROP VIEW wide;"}, dies=None)
    expected = run_script(STREAMS + TOTALS + SIZES, folder)
    found = kept.tables()
    for name in ("totals", "sizes"):
        assert found[name].to_pylist() == expected[name].to_pylist()
    assert "wide" not in found
    job = kept.host.job
    assert {q.name: q.joined for q in job.queries} == {"totals": "", "sizes": ""}
    assert any('"wide"' in notice and "the content it has now" in notice for notice in kept.notices)
    assert any(
        '"sizes"' in notice and "the content it has now" in notice for notice in kept.notices
    )


@pytest.mark.parametrize("dies", [None, 1])
def test_rows_that_are_read_and_not_final_count_from_the_first_answer_on(
    spark, tmp_path: Path, dies: int | None
) -> None:
    """Twenty rows a minute apart are read, and nine of them are final when a query joins."""
    write_minutes(tmp_path)
    kept = go(spark, tmp_path, MINUTES, {0: LATE}, dies)
    if dies is not None:  # killed where it opens; it was not on the checkpoint
        kept = go(spark, tmp_path, MINUTES + LATE, {}, None)
    assert shown(kept.tables()["late"]) == expected(minutes=60)


@pytest.mark.slow
def test_all_processes_are_killed_where_a_query_opens(spark, tmp_path: Path) -> None:
    write_minutes(tmp_path)
    words = [sys.executable, "-m", "spark.killed", str(tmp_path), "1"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        words, env=env, start_new_session=True, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    assert sorted(p.stem for p in tmp_path.glob("checkpoint/commits/*.json")) == [f"{0:012d}"]
    log = killed.go(spark, tmp_path, MINUTES + LATE, None)
    late, every = (log.session.queries[name].result_schema for name in ("late", "every"))
    assert shown(read_log(log.folder, "late", late)) == expected(minutes=60)
    found = read_log(log.folder, "every", every).column("x").to_pylist()
    assert found == list(range(60)), "the query that was there is untouched"


def write_minutes(folder: Path) -> None:
    rows = [f"2024-05-01 10:{minute:02d}:00,{minute}" for minute in range(60)]
    (folder / "f.csv").write_text("\n".join(["at,x", *rows]) + "\n")


def shown(table: pa.Table) -> list[tuple[str, str, int]]:
    return [(row["op"], str(row["ts"])[11:], row["n"]) for row in table.to_pylist()]


def expected(minutes: int) -> list[tuple[str, str, int]]:
    """A row comes in every minute, and leaves at the instant after three minutes."""
    first = ("+", "10:08:59.999999", 3)  # those of 10:06, 10:07 and 10:08
    later = [
        change
        for minute in range(9, minutes)
        for change in (
            ("u", f"10:{minute:02d}:00", 4),
            ("u", f"10:{minute:02d}:00.000001", 3),
        )
    ]
    return [first, *later[:-1]]  # instants after the last row do not exist


def test_a_query_over_a_dataframe_begins_at_the_instant_it_names(spark, tmp_path: Path) -> None:
    """What Spark has brought cannot be read again: the window must hold none of it."""
    (tmp_path / "in").mkdir()
    for number in range(6):
        lines = [f"{ts},{ts}" for ts in range(10 * number, 10 * number + 10)]
        path = tmp_path / "in" / f"{number}.csv"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (number, number))
    frame = spark.readStream.schema("ts bigint, x bigint").option("maxFilesPerTrigger", 1)
    frame = frame.csv(str(tmp_path / "in"))
    session = Database(tell=lambda text: None)
    session.add_stream(stream_of("g", frame, "ts", 5, None, None))
    session.execute("CREATE VIEW every AS SELECT Istream(x) FROM g;")
    late = "CREATE VIEW late AS SELECT STREAMED sum(x) AS n FROM g [Range 3];"
    kept = Changing(session, {1: late}, None)
    kept.host = SparkHost(
        spark,
        session.job(),
        lambda commit: [kept],
        foreign={"g": frame},
        tell=lambda notice: kept.notices.append(notice.message),
    )
    kept.host.run()
    assert kept.notices == ['query "late" joins a running job: its answers begin at 23']
    told = [tuple(row.values()) for row in kept.tables()["late"].to_pylist()]
    assert told == [("+", 23, 86), *(("u", at, 4 * at - 6) for at in range(24, 60))]
    assert kept.tables()["every"].column("x").to_pylist() == list(range(60))
