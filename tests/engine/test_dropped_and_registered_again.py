"""A query that is dropped and registered again under its name is another one, with its own rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from millstream.database import Database
from millstream.engine.log import ResultLog, read_log
from millstream.local.host import LocalHost

SCRIPT = "CREATE STREAM s (ts bigint, k bigint) ORDER BY ts SOURCE 's.csv';"
COUNT = "SELECT STREAMED k, count(*) AS n FROM s GROUP BY k"


class Slow(ResultLog):
    """A log that lets a batch come whenever it has forgotten a result: another thread might."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.host: LocalHost | None = None

    def forget(self, name: str) -> None:
        assert self.host is not None
        assert self.host.driver.lock._is_owned(), "no batch ends meanwhile"
        super().forget(name)


@pytest.fixture
def running(tmp_path: Path) -> tuple[Database, LocalHost, Slow]:
    rows = [f"{i},{i % 3}" for i in range(60)]
    (tmp_path / "s.csv").write_text("\n".join(["ts,k", *rows]) + "\n")
    database = Database(base=str(tmp_path), tell=lambda text: None)
    database.pin("batch_rows", "10")
    database.execute(SCRIPT)
    database.query(COUNT, "counts")
    log = Slow(tmp_path / "log")

    def make(job) -> LocalHost:
        return LocalHost(job, database.sources(follow=False), [log])

    log.host = database.start_run(make, None, follow=False)
    return database, log.host, log


def content(log: Slow, schema: pa.Schema) -> dict[int, int]:
    """What the changes in the log lead to."""
    found: dict[int, int] = {}
    for row in read_log(log.folder, "counts", schema).to_pylist():
        assert (row["op"] == "+") == (row["k"] not in found), row
        found[row["k"]] = row["n"]
    return found


def test_what_was_kept_is_dropped_before_a_batch_can_bring_more(running) -> None:
    database, host, log = running
    host.batch()
    schema = database.queries["counts"].result_schema
    assert content(log, schema) == {0: 3, 1: 3, 2: 3}
    database.drop("counts")
    assert content(log, schema) == {}
    database.query(COUNT, "counts")
    while not host.is_done:
        host.batch()
    assert content(log, schema) == {0: 20, 1: 20, 2: 20}


def test_a_batch_that_runs_meanwhile_brings_none_of_its_rows(running) -> None:
    """It is dropped and registered again while a batch of the old one is carried out."""
    database, host, log = running
    host.batch()
    schema = database.queries["counts"].result_schema
    carrier = host.carrier

    class Meanwhile:
        place, waited = carrier.place, 0.0

        def carry(self, work):
            yield from carrier.carry(work)
            host.carrier = carrier
            database.drop("counts")
            database.query(COUNT, "counts")

    host.carrier = Meanwhile()
    host.batch()
    assert content(log, schema) == {}
    while not host.is_done:
        host.batch()
    assert content(log, schema) == {0: 20, 1: 20, 2: 20}
