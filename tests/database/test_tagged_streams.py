"""Tagged streams among the names: they read a stream, and are replaced and dropped like others."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.local.host import LocalHost
from millstream.operators import Tagger
from millstream.testing.run import KeptResults

SCRIPT = """
CREATE STREAM readings (t int, room varchar, heat int) ORDER BY t SOURCE 'readings.csv';
CREATE STREAM rooms OVER readings KEY room;
CREATE STREAMED VIEW hot AS SELECT room, heat FROM R(rooms) WHERE heat > 97;
"""


@pytest.fixture
def database(tmp_path: Path) -> Database:
    lines = [f"{t},room {t % 500},{t * 7 % 100}" for t in range(3_000)]
    (tmp_path / "readings.csv").write_text("\n".join(["t,room,heat", *lines]) + "\n")
    found = Database(base=str(tmp_path), tell=lambda text: None)
    found.execute(SCRIPT)
    return found


def kept_rows(database: Database) -> int:
    """How many rows all taggers of the job hold at the end."""
    host = LocalHost(database.job(), database.sources(follow=False), [KeptResults()])
    host.run()
    held = host.held()
    return sum(held.of(n, "rows").rows for n in held.job.graph.nodes if isinstance(n, Tagger))


def test_only_the_keys_of_wanted_rows_are_kept(database: Database) -> None:
    assert 0 < kept_rows(database) < 60
    database.execute("SET rules = off;")
    assert kept_rows(database) == 500


def test_a_tagged_stream_that_several_read_is_one(database: Database) -> None:
    database.execute("SELECT STREAMED room FROM R(rooms) WHERE heat < 2;")
    job = database.job()
    assert sum(isinstance(node, Tagger) for node in job.graph.nodes) == 1
    assert kept_rows(database) == 500


def test_what_reads_a_stream_that_is_tagged_anew_is_bound_again(database: Database) -> None:
    database.execute("CREATE OR REPLACE STREAM rooms OVER readings KEY heat;")
    assert database.queries["hot"].plan.key == ("heat",)
    database.execute(
        "CREATE OR REPLACE STREAM readings (t int, room varchar, heat double) "
        "ORDER BY t SOURCE 'readings.csv';"
    )
    assert str(database.queries["hot"].plan.schema.field("heat").type) == "double"
    assert "KEY (heat)" in database.describe("rooms")


def test_what_does_not_fit_any_more_is_named(database: Database) -> None:
    with pytest.raises(MillstreamError) as caught:
        database.execute(TOO_FEW)
    assert 'stream "readings" cannot be replaced: stream "rooms" reads it' in caught.value.message
    assert "room" in (caught.value.detail or "")
    assert database.queries["hot"].plan.key == ("room",)


TOO_FEW = "CREATE OR REPLACE STREAM readings (t int, heat int) ORDER BY t SOURCE 'readings.csv';"


def test_the_same_again_changes_nothing(database: Database) -> None:
    before = database.queries["hot"]
    database.execute("CREATE OR REPLACE STREAM rooms OVER readings KEY room;")
    assert database.queries["hot"] is before


def test_a_stream_that_is_tagged_cannot_be_dropped(database: Database) -> None:
    with pytest.raises(MillstreamError, match='stream "readings" is used by stream "rooms"'):
        database.execute("DROP STREAM readings;")
    with pytest.raises(MillstreamError, match='stream "rooms" is used by view "hot"'):
        database.execute("DROP STREAM rooms;")
    database.execute("DROP VIEW hot; DROP STREAM rooms; DROP STREAM readings;")
    assert "rooms" not in database.catalog.entries


def test_definitions_may_stand_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "readings.csv").write_text("t,room,heat\n1,attic,99\n")
    database = Database(base=str(tmp_path), tell=lambda text: None)
    statements = [part + ";" for part in SCRIPT.split(";") if part.strip()]
    database.execute("\n".join(reversed(statements)))
    assert database.queries["hot"].plan.key == ("room",)
    assert not database.check(SCRIPT.replace("CREATE", "CREATE OR REPLACE")).errors
