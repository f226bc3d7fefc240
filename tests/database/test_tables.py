"""Tables in a database whose job runs: their changes are made with the script, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.database import Database
from millstream.database.events import Noticed
from millstream.engine.clock import Clock
from millstream.engine.holdings import Held
from millstream.engine.job import Job
from millstream.engine.summary import Summary
from millstream.errors import MillstreamError

SCRIPT = """
CREATE STREAM s (t int, k int) ORDER BY t;
CREATE TABLE tab (k int PRIMARY KEY, name string) WITH (time = 'integer');
INSERT INTO tab VALUES (1, 'a');
SELECT count(*) AS n FROM tab;
"""


class IdleHost:
    """A host that runs no batches, and remembers the jobs it was given."""

    def __init__(self, job: Job) -> None:
        self.jobs = [job]
        self.clock = Clock.start()
        self.summary = Summary()

    @property
    def job(self) -> Job:
        return self.jobs[-1]

    def change(self, job: Job) -> None:
        self.jobs.append(job)

    def held(self) -> Held | None:
        return None


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture
def database(checkpoint: Path) -> Database:
    made = Database(tell=lambda text: None)
    made.execute(SCRIPT)
    made.start_run(IdleHost, str(checkpoint), follow=True)
    return made


def fed(checkpoint: Path) -> dict[str, int]:
    """How many bytes of changes the job can see, by table."""
    return {p.stem: p.stat().st_size for p in (checkpoint / "tables").glob("*.changes")}


def test_changes_are_put_where_the_job_finds_them(database: Database, checkpoint: Path) -> None:
    assert not fed(checkpoint).get("tab")
    database.execute("INSERT INTO tab VALUES (2, 'b') AT 5")
    assert fed(checkpoint)["tab"] > 0


def test_changes_of_a_script_that_fails_are_not_made(database: Database, checkpoint: Path) -> None:
    with pytest.raises(MillstreamError):
        database.execute("INSERT INTO tab VALUES (2, 'b') AT 5; SELECT nothing FROM s [Now];")
    assert not fed(checkpoint).get("tab")
    database.execute("UPDATE tab SET name = 'c' WHERE k = 2 AT 9")
    assert not fed(checkpoint).get("tab"), "there is no row of that key"


def test_a_change_that_cannot_be_written_takes_all_back(
    database: Database, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(stream: object, rows: object) -> None:
        raise OSError(28, "No space left on device")

    before = database.contents
    with monkeypatch.context() as patched:
        patched.setattr("millstream.database.database.feed", full)
        with pytest.raises(OSError, match="No space left"):
            database.execute("SELECT k FROM s [Now]; INSERT INTO tab VALUES (2, 'b') AT 5;")
    assert database.contents is before
    host = database._run.host if database._run else None
    assert isinstance(host, IdleHost)
    assert [len(job.queries) for job in host.jobs] == [1, 2, 1]
    database.execute("SELECT k FROM s [Now]; INSERT INTO tab VALUES (2, 'b') AT 5;")
    assert len(host.job.queries) == 2 and fed(checkpoint)["tab"] > 0


def test_a_script_that_only_changes_rows_leaves_the_job_alone(database: Database) -> None:
    host = database._run.host if database._run else None
    assert isinstance(host, IdleHost)
    database.execute("INSERT INTO tab VALUES (2, 'b') AT 5; SHOW;")
    assert len(host.jobs) == 1


def test_changes_that_are_wanted_are_part_of_the_job(database: Database) -> None:
    host = database._run.host if database._run else None
    assert isinstance(host, IdleHost)
    database.want_changes("q1")
    database.want_changes("q1")
    assert [sorted(job.changes) for job in host.jobs] == [[], ["q1"]]
    database.execute("CREATE VIEW v AS SELECT k FROM s [Rows 3]")
    assert host.job.changes == {"q1"}


def test_a_string_in_double_quotes_is_noticed_and_changes_no_job(database: Database) -> None:
    told: list[str] = []
    database.events.subscribe(lambda event: told.append(event.notice.render()), Noticed)
    jobs = len(database._run.host.jobs)  # type: ignore[union-attr]
    database.execute("DELETE FROM tab WHERE name = \"a\" AT 3; UPDATE tab SET name = 'c' AT 4")
    assert told == [
        "tab: no column is called \"a\": it is taken as the string 'a' "
        "(hint: Write 'a': double quotes are for names.)"
    ]
    assert len(database._run.host.jobs) == jobs  # type: ignore[union-attr]
