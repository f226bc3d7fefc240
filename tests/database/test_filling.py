"""INSERT INTO a stream: whatever the order of statements, and while others read the stream."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from laws.live import Live
from laws.test_live_change import settings, write
from millstream.database import Database
from millstream.database.events import QueryDropped, QueryRegistered
from millstream.errors import MillstreamError

SCRIPT = """
CREATE STREAM a (t int, k int) ORDER BY t;
CREATE STREAM b (t int, k int) ORDER BY t;
CREATE VIEW part AS SELECT t, k FROM a WHERE k > 1;
CREATE STREAM s (t int, k int) ORDER BY t;
INSERT INTO s SELECT t, k FROM part;
INSERT INTO s SELECT t, k + 1 FROM b;
CREATE VIEW counts AS SELECT k, count(*) AS n FROM s [Range 9] GROUP BY k;
SELECT max(n) AS most FROM counts;
"""


def defined(script: str) -> Database:
    database = Database(tell=lambda text: None)
    database.execute(script)
    return database


def plans(database: Database) -> dict:
    return {name: query.plan for name, query in database.queries.items()}


def test_statements_may_stand_in_any_order() -> None:
    lines = [line for line in SCRIPT.strip().splitlines()]
    wanted = plans(defined(SCRIPT))
    for seed in range(20):
        chance = random.Random(seed)
        mixed = sorted(lines, key=lambda line: (line.startswith("INSERT"), chance.random()))
        at = chance.randrange(len(lines) - 1)
        mixed = [*mixed[-2:][::-1], *mixed[:-2]] if at % 2 else mixed
        inserts = sorted((x for x in mixed if x.startswith("INSERT")), key=lines.index)
        mixed = [inserts.pop(0) if x.startswith("INSERT") else x for x in mixed]
        assert plans(defined("\n".join(mixed))) == wanted


def test_scripts_one_after_the_other_mean_the_same_as_one() -> None:
    database = Database(tell=lambda text: None)
    for statement in SCRIPT.strip().splitlines():
        database.execute(statement)
    assert plans(database) == plans(defined(SCRIPT))
    assert database.catalog.reads == defined(SCRIPT).catalog.reads


def test_readers_are_bound_again_when_a_query_is_added() -> None:
    database = defined(SCRIPT)
    before, events = database.queries, []
    database.events.subscribe(events.append, QueryDropped | QueryRegistered)
    (stream,) = database.execute("INSERT INTO s (k, t) SELECT k, t FROM a WHERE k = 0")
    assert stream.name == "s" and stream is database.queries["s"]
    more = SCRIPT.replace("CREATE VIEW counts", "INSERT INTO s SELECT t, k FROM a WHERE k = 0;\n$")
    wanted = plans(defined(more.replace("$", "CREATE VIEW counts")))
    assert {n: p.schema for n, p in plans(database).items()} == {
        n: p.schema for n, p in wanted.items()
    }
    assert database.queries["part"] is before["part"]
    dropped = {event.query.name for event in events if isinstance(event, QueryDropped)}
    assert dropped == {"s", "counts", "q1"}


def test_what_fills_a_stream_is_bound_again_when_a_view_is_replaced() -> None:
    database = defined(SCRIPT)
    wider = "CREATE OR REPLACE VIEW part AS SELECT t, k FROM a WHERE k > 2;"
    database.execute(wider)
    view = "CREATE VIEW part AS SELECT t, k FROM a WHERE k > 1;"
    assert plans(database) == plans(defined(SCRIPT.replace(view, wider)))
    with pytest.raises(MillstreamError, match='stream "s" reads it, and does not fit'):
        database.execute("CREATE OR REPLACE VIEW part AS SELECT t FROM a")
    with pytest.raises(MillstreamError, match='cannot read stream "s", which reads it'):
        database.execute("CREATE OR REPLACE VIEW part AS SELECT t, k FROM s")
    with pytest.raises(MillstreamError, match='cannot read view "counts", which reads it'):
        database.execute("INSERT INTO s SELECT Istream(n, k) FROM counts")


def test_a_stream_that_is_dropped_or_replaced_is_filled_no_more() -> None:
    database = defined(SCRIPT)
    database.execute("CREATE OR REPLACE STREAM s (t int, k int, more int) ORDER BY t")
    assert "s" in database.streams and "s" not in database.queries
    database.execute("INSERT INTO s SELECT t, t, t + k FROM b")
    assert database.queries["s"].plan.schema.names == ["t", "k", "more"]
    database.execute("DROP QUERY q1; DROP VIEW counts; DROP STREAM s; DROP STREAM b")
    assert list(database.queries) == ["part"] and not database.catalog.readers_of("b")


def test_late_rows_are_a_result_where_there_can_be_any() -> None:
    database = defined(SCRIPT)
    assert "s.late" not in database.queries
    database.execute("INSERT INTO s SELECT t - 1, k FROM a")
    assert "s.late" in database.queries
    database.execute("DROP QUERY q1; DROP VIEW counts; DROP STREAM s")
    assert list(database.queries) == ["part"]


def test_a_script_is_checked_as_it_would_be_carried_out() -> None:
    checked = Database(tell=lambda text: None).check(SCRIPT, sources=False)
    assert not checked.errors
    assert sorted(query.name for query in checked.queries) == ["counts", "part", "q1", "s"]


@pytest.mark.parametrize("seed", range(6))
def test_a_query_that_is_added_while_the_job_runs_counts_from_then_on(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    write(tmp_path, chance, 60)
    given = settings(chance)
    declared = "CREATE STREAM s (ts bigint, item bigint) ORDER BY ts; INSERT INTO s SELECT ts, "
    first = f"{declared}item FROM bids WHERE price > 3"
    second = "INSERT INTO s SELECT ts, price FROM bids"
    counts = "SELECT item, count(*) AS n FROM s [Range 5] GROUP BY item"
    live, whole = Live(tmp_path, {}, given), Live(tmp_path, {}, given)
    live.session.execute(first)
    whole.session.execute(f"{first}; {second}")
    for one in (live, whole):
        one.add("counts", counts)
    for _ in range(chance.choice((1, 3, 6))):
        live.batch(), whole.batch()
    if chance.random() < 0.5:
        live.restart()
    live.session.execute(second)
    live.host.change(live._job())
    while live.batch():
        whole.batch()
        assert live.content("counts") == whole.content("counts")
