"""CREATE OR REPLACE: one step, in which readers are bound again, or nothing happens at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from database.test_tables import IdleHost
from millstream.database import Database
from millstream.database.events import (
    Event,
    NameDefined,
    NameDropped,
    QueryDropped,
    QueryRegistered,
)
from millstream.database.registry import Life
from millstream.errors import MillstreamError
from millstream.testing import run_script

SCRIPT = """
CREATE STREAM s (t int, k int, name string) ORDER BY t;
CREATE VIEW a AS SELECT k, count(*) AS n FROM s [Range 9] GROUP BY k;
CREATE VIEW b AS SELECT k, n FROM a WHERE n > 1;
CREATE VIEW c (key, more) AS SELECT k, n + 1 FROM b;
SELECT sum(n) AS total FROM a;
CREATE VIEW apart AS SELECT k FROM s [Now];
"""
WIDER = "CREATE OR REPLACE VIEW a AS SELECT k, count(*) AS n, max(name) AS m FROM s GROUP BY k;"


def defined(script: str = SCRIPT) -> Database:
    database = Database(tell=lambda text: None)
    database.execute(script)
    return database


def fresh(script: str) -> dict:
    return {name: query.plan for name, query in defined(script).queries.items()}


def plans(database: Database) -> dict:
    return {name: query.plan for name, query in database.queries.items()}


def test_readers_are_bound_again_and_everything_keeps_its_place() -> None:
    database = defined()
    before, edges = database.queries, dict(database.catalog.reads)
    database.execute(WIDER)
    new = SCRIPT.replace(
        "CREATE VIEW a AS SELECT k, count(*) AS n FROM s [Range 9] GROUP BY k;",
        WIDER.replace("OR REPLACE ", ""),
    )
    assert plans(database) == fresh(new)
    assert list(database.queries) == list(before)
    assert database.catalog.reads == edges
    assert list(database.catalog.entries) == ["s", "a", "b", "c", "apart"]
    assert database.queries["apart"] is before["apart"]
    assert database.queries["c"].plan.schema.names == ["key", "more"]
    for name in ("b", "c", "q1"):
        assert database.life_of(before[name]) is Life.REGISTERED
        assert database.as_now(before[name]) is database.queries[name]
    assert database.life_of(before["a"]) is Life.DROPPED


def test_a_new_name_is_created() -> None:
    database = defined()
    (query,) = database.execute("CREATE OR REPLACE VIEW z AS SELECT k FROM a;")
    assert query.name == "z" and list(database.queries)[-1] == "z"


def test_what_computes_the_same_changes_nothing_above_it() -> None:
    database = defined()
    before = database.queries
    events: list[Event] = []
    database.events.subscribe(events.append)
    (query,) = database.execute(
        "CREATE OR REPLACE VIEW a AS SELECT k, count(*) AS n FROM s x [Range 9] GROUP BY k;"
        "CREATE OR REPLACE STREAM s (t int, k int, name string) ORDER BY t;"
    )
    assert events == [] and "x" in query.text and query is database.queries["a"]
    assert {n: q for n, q in database.queries.items() if n != "a"} == {
        n: q for n, q in before.items() if n != "a"
    }
    assert database.life_of(before["a"]) is Life.REGISTERED


def test_events_tell_what_went_and_what_came() -> None:
    database = defined()
    old = database.queries
    events: list[Event] = []
    database.events.subscribe(events.append)
    database.execute("CREATE OR REPLACE VIEW b AS SELECT k, n FROM a WHERE n > 2;")
    new = database.queries
    assert events == [
        NameDropped("view", "b"),
        QueryDropped(old["b"]),
        NameDefined("view", "b"),
        QueryRegistered(new["b"]),
        QueryDropped(old["c"]),
        QueryRegistered(new["c"]),
    ]


REFUSED = {
    "CREATE OR REPLACE VIEW a AS SELECT k, count(*) AS m FROM s [Range 9] GROUP BY k;": """\
view "a" cannot be replaced: view "b" reads it, and does not fit
   1 | CREATE OR REPLACE VIEW a AS SELECT k, count(*) AS m FROM s [Range 9] GROUP BY k;
     |                        ^
detail: In view "b": column "n" does not exist in "a".
hint: Replace view "b" in the same script, or write DROP VIEW "b" first.""",
    "CREATE OR REPLACE VIEW a AS SELECT k, 'x' AS n FROM s; CREATE OR REPLACE VIEW b AS SELECT k, "
    "3 AS n FROM a;": """\
view "a" cannot be replaced: query "q1" reads it, and does not fit
   1 | CREATE OR REPLACE VIEW a AS SELECT k, 'x' AS n FROM s; CREATE OR REPLACE VIEW b AS SELECT k, 3 AS n FROM a;
     |                        ^
detail: In query "q1": aggregate "sum" cannot take a string.
hint: Write DROP QUERY "q1" first.""",  # noqa: E501
    "CREATE OR REPLACE STREAM s (t int, name string) ORDER BY t;": """\
stream "s" cannot be replaced: view "a" reads it, and does not fit
   1 | CREATE OR REPLACE STREAM s (t int, name string) ORDER BY t;
     |                          ^
detail: In view "a": column "k" does not exist in "s".
hint: Replace view "a" in the same script, or write DROP VIEW "a" first.""",
    "CREATE OR REPLACE STREAM a AS SELECT k FROM s;": """\
"a" is a view, not a stream
   1 | CREATE OR REPLACE STREAM a AS SELECT k FROM s;
     |                          ^
hint: Write CREATE OR REPLACE VIEW, or DROP VIEW "a" first.""",
    "CREATE OR REPLACE VIEW a AS SELECT key AS k, more AS n FROM c;": """\
view "a" cannot read view "c", which reads it
   1 | CREATE OR REPLACE VIEW a AS SELECT key AS k, more AS n FROM c;
     |                                                             ^
hint: Let it read what view "c" does not depend on, or give it another name.""",
    "CREATE OR REPLACE VIEW a AS SELECT k, n FROM a;": """\
view "a" is defined by itself
   1 | CREATE OR REPLACE VIEW a AS SELECT k, n FROM a;
     |                                              ^
hint: Let it use what comes before it only, or give it another name.""",
}


@pytest.mark.parametrize("script", REFUSED)
def test_a_refusal_names_the_reader_and_changes_nothing(script: str) -> None:
    database = defined()
    contents = database.contents
    with pytest.raises(MillstreamError) as caught:
        database.execute(script)
    assert caught.value.render() == REFUSED[script]
    assert database.contents is contents


TOGETHER = [
    "CREATE OR REPLACE VIEW a AS SELECT k, count(*) AS m FROM s [Range 9] GROUP BY k;",
    "CREATE OR REPLACE VIEW b AS SELECT k, m AS n FROM a WHERE m > 1;",
    "DROP QUERY q1;",
]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 2, 1)])
def test_one_script_replaces_a_view_and_its_readers_in_any_order(order: tuple[int, ...]) -> None:
    database = defined()
    database.execute(" ".join(TOGETHER[at] for at in order))
    new = SCRIPT.replace("AS n FROM s", "AS m FROM s").replace("k, n FROM a", "k, m AS n FROM a")
    new = new.replace("WHERE n > 1", "WHERE m > 1").replace("SELECT sum(n) AS total FROM a;", "")
    assert plans(database) == fresh(new)


def test_two_views_change_places() -> None:
    database = defined()
    database.execute(
        "CREATE OR REPLACE VIEW a AS SELECT k, n FROM b;"
        "CREATE OR REPLACE VIEW b AS SELECT k, count(*) AS n FROM s [Range 9] GROUP BY k;"
    )
    assert database.catalog.reads["a"] == ("b",) and database.catalog.reads["b"] == ("s",)
    with pytest.raises(MillstreamError, match='"b" is used by view "a" and view "c"'):
        database.execute("DROP VIEW b")


def test_a_later_statement_reads_what_was_bound_again() -> None:
    database = defined()
    told: list[str] = []
    database.execute(f"{WIDER} SELECT more FROM c; DESCRIBE b; EXPLAIN BOUND c;", told.append)
    assert "max" not in told[0] and "GroupBy k: count(*)" in told[1] and "Range 9" not in told[1]
    assert database.queries["q2"].plan.schema.names == ["more"]


def test_a_table_begins_anew_with_the_rows_that_follow() -> None:
    script = """
    CREATE TABLE tab (k int, name string);
    INSERT INTO tab VALUES (1, 'a'), (2, 'b');
    CREATE VIEW names AS SELECT upper(name) AS name FROM tab;
    """
    database = defined(script)
    database.execute(
        "CREATE OR REPLACE TABLE tab (name string, more int); INSERT INTO tab VALUES ('x', 1);"
    )
    assert plans(database) == fresh(
        "CREATE TABLE tab (name string, more int); INSERT INTO tab VALUES ('x', 1);"
        "CREATE VIEW names AS SELECT upper(name) AS name FROM tab;"
    )
    with pytest.raises(MillstreamError, match='In view "names": column "name" does not exist'):
        database.execute("CREATE OR REPLACE TABLE tab (k int);")


def test_a_running_job_refuses_another_stream_under_a_name_that_it_reads(tmp_path: Path) -> None:
    database = defined()
    host = database.start_run(IdleHost, str(tmp_path), follow=True)
    same = "CREATE OR REPLACE STREAM s (t int, k int, name string) ORDER BY t;"
    database.execute(same)
    assert len(host.jobs) == 1
    with pytest.raises(MillstreamError) as caught:
        database.execute(same.replace("ORDER BY t", ""))
    message = 'stream "s" cannot be declared differently while the job runs'
    assert caught.value.message == message and caught.value.place is not None
    with pytest.raises(MillstreamError, match=message):
        database.execute(
            "DROP VIEW apart; DROP QUERY q1; DROP VIEW c; DROP VIEW b; DROP VIEW a; DROP STREAM s;"
            "CREATE STREAM s (t int) ORDER BY t;"
        )
    database.execute(WIDER)
    assert len(host.jobs) == 2 and host.job.query("c") == database.queries["c"]


def test_a_running_job_keeps_the_rows_of_a_table_that_is_declared_as_it_was(
    tmp_path: Path,
) -> None:
    table = "TABLE tab (k int PRIMARY KEY, name string) WITH (time = 'integer')"
    database = defined(f"CREATE {table}; INSERT INTO tab VALUES (1, 'a'); SELECT name FROM tab;")
    host = database.start_run(IdleHost, str(tmp_path), follow=True)
    database.execute(f"CREATE OR REPLACE {table}; INSERT INTO tab VALUES (2, 'b') AT 5;")
    assert len(host.jobs) == 1
    assert database.contents.tables.books["tab"].as_of(9).column("k").to_pylist() == [1, 2]
    with pytest.raises(MillstreamError, match="cannot be declared differently while the job"):
        database.execute(f"CREATE OR REPLACE {table.replace('k int', 'k bigint, more int')};")


def test_the_last_definition_of_a_script_answers(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("t,k\n1,5\n2,6\n3,5\n")
    script = """
    CREATE STREAM s (t int, k int) ORDER BY t SOURCE 's.csv';
    CREATE VIEW v AS SELECT k FROM s WHERE k = 6;
    CREATE VIEW w AS SELECT k + 1 AS k FROM v;
    CREATE OR REPLACE VIEW v AS SELECT k FROM s WHERE k = 5;
    """
    results = run_script(script, tmp_path)
    assert results["v"].column("k").to_pylist() == [5, 5]
    assert results["w"].to_pylist() == [{"ts": 1, "k": 6}, {"ts": 3, "k": 6}]
