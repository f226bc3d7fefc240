"""A script is carried out as a whole, or not at all."""

from __future__ import annotations

import pytest

from millstream.database import Database
from millstream.database.events import (
    Event,
    Failure,
    NameDefined,
    NameDropped,
    QueryDropped,
    QueryRegistered,
    SettingChanged,
)
from millstream.database.registry import Life
from millstream.errors import MillstreamError

STREAM = "CREATE STREAM s (t int, k int) ORDER BY t;"
TABLE = "CREATE TABLE tab (k int PRIMARY KEY, name string);"


def quiet() -> Database:
    return Database(tell=lambda text: None)


def state_of(database: Database) -> tuple:
    contents = database.contents
    tables = {name: book.content.to_pylist() for name, book in contents.tables.books.items()}
    return (
        dict(contents.catalog.entries),
        dict(contents.catalog.reads),
        database.queries,
        contents.settings,
        contents.queries.bare,
        tables,
    )


FAILING = [
    "CREATE VIEW a AS SELECT k FROM s [Now]; CREATE VIEW b AS SELECT nothing FROM s [Now];",
    "SELECT k FROM s [Now]; SELECT k FROM s [Now]; DROP STREAM nothing;",
    "SET batch_rows = 7; SET batch_rows = none;",
    "DROP VIEW v; SELECT x FROM s [Now];",
    "INSERT INTO tab VALUES (2, 'b'); DELETE FROM tab WHERE k = 1; INSERT INTO tab VALUES (3);",
    "CREATE TABLE more (k int); INSERT INTO more VALUES (1); SELECT k FROM nothing;",
    "CREATE STREAM s2 (t int) ORDER BY t; CREATE STREAM s (t int) ORDER BY t;",
]


@pytest.mark.parametrize("script", FAILING)
def test_a_script_that_fails_leaves_nothing(script: str) -> None:
    database = quiet()
    database.execute(
        f"{STREAM} {TABLE} INSERT INTO tab VALUES (1, 'a'); CREATE VIEW v AS SELECT t FROM s [Now];"
    )
    events: list[Event] = []
    database.events.subscribe(events.append)
    before, contents = state_of(database), database.contents
    with pytest.raises(MillstreamError):
        database.execute(script)
    assert database.contents is contents and state_of(database) == before
    assert events == []
    assert [q.name for q in database.execute("SELECT k FROM s [Now]")] == ["q1"]


def test_one_query_is_registered_or_none() -> None:
    database = quiet()
    database.execute(STREAM)
    with pytest.raises(MillstreamError, match="one query is expected here, and the text has 2"):
        database.query("SELECT k FROM s [Now]; SELECT t FROM s [Now]")
    assert database.queries == {}


def test_what_was_printed_before_a_mistake_is_told() -> None:
    told: list[str] = []
    database = Database(tell=told.append)
    with pytest.raises(MillstreamError):
        database.execute(f"{STREAM} SHOW STREAMS; DROP STREAM nothing;")
    assert told == ["stream s"]
    database.execute(f"{STREAM} SHOW STREAMS;", tell=lambda text: told.append(f"mine: {text}"))
    assert told == ["stream s", "mine: stream s"]


def test_a_copy_goes_its_own_way() -> None:
    database = quiet()
    database.execute(f"{STREAM} {TABLE} INSERT INTO tab VALUES (1, 'a');")
    before = state_of(database)
    other = database.copy()
    other.execute("INSERT INTO tab VALUES (2, 'b'); SELECT k FROM s [Now]; SET batch_rows = 5;")
    assert state_of(database) == before
    assert other.catalog.find("tab").content.rows.num_rows == 2
    database.execute("INSERT INTO tab VALUES (3, 'c')")
    assert other.contents.tables.books["tab"].content.column("k").to_pylist() == [1, 2]


def test_events_tell_what_was_defined_and_dropped() -> None:
    database = quiet()
    events: list[Event] = []
    database.events.subscribe(events.append)
    (query,) = database.execute(f"{STREAM} CREATE VIEW v AS SELECT k FROM s [Now];")
    database.execute("SET buckets = 3; DROP VIEW v;")
    assert events == [
        NameDefined("stream", "s"),
        NameDefined("view", "v"),
        QueryRegistered(query),
        SettingChanged("buckets", "3"),
        NameDropped("view", "v"),
        QueryDropped(query),
    ]


def test_a_subscriber_that_raises_is_reported_and_asked_no_more() -> None:
    database = quiet()
    failures: list[Failure] = []
    registered: list[str] = []
    database.events.subscribe(lambda event: 1 / 0, QueryRegistered)
    database.events.subscribe(lambda event: registered.append(event.query.name), QueryRegistered)
    database.events.subscribe(failures.append, Failure)
    database.execute(f"{STREAM} SELECT k FROM s [Now]; SELECT k FROM s [Range 1];")
    assert registered == ["q1", "q2"]
    assert [type(failure.error) for failure in failures] == [ZeroDivisionError]


def test_a_subscriber_may_change_the_database() -> None:
    """Its events come after those that are being handed out."""
    database = quiet()
    seen: list[str] = []

    def follow(event: QueryRegistered) -> None:
        seen.append(event.query.name)
        if event.query.name == "v":
            database.query("SELECT k FROM v", "w")

    database.events.subscribe(follow, QueryRegistered)
    database.execute(f"{STREAM} CREATE VIEW v AS SELECT k FROM s [Now]; SELECT t FROM s [Now];")
    assert seen == ["v", "q1", "w"]


def test_a_subscription_can_be_closed() -> None:
    database = quiet()
    seen: list[Event] = []
    subscription = database.events.subscribe(seen.append)
    subscription.close()
    database.execute(STREAM)
    assert seen == []


def test_the_life_of_a_query() -> None:
    database = quiet()
    failures: list[Failure] = []
    database.events.subscribe(failures.append, Failure)
    (query,) = database.execute(f"{STREAM} SELECT k FROM s [Now]")
    assert database.life_of(query) is Life.REGISTERED
    database.begin(None, follow=False)
    assert database.life_of(query) is Life.RUNNING
    problem = MillstreamError("the disk is full")
    database.end(problem)
    assert database.life_of(query) is Life.FAILED and failures[0].error is problem
    database.begin(None, follow=False)
    database.end()
    assert database.life_of(query) is Life.REGISTERED
    database.drop("q1")
    assert database.life_of(query) is Life.DROPPED
