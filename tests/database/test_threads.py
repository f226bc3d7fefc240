"""A database that several threads use at once, alone and while a job runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millstream.database import Database
from millstream.database.events import QueryDropped, QueryRegistered
from millstream.engine.clock import Clock
from millstream.engine.holdings import Held
from millstream.engine.job import Job
from millstream.engine.summary import Summary
from millstream.errors import MillstreamError
from millstream.local.host import LocalHost
from millstream.testing.run import KeptResults

THREADS, TURNS = 6, 12
STREAM = "CREATE STREAM s (t int, k int) ORDER BY t SOURCE 's.csv';"


@pytest.fixture(autouse=True)
def hurried() -> Iterator[None]:
    """Threads take turns as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    rows = "".join(f"{t},{t % 3}\n" for t in range(1, 401))
    (tmp_path / "s.csv").write_text("t,k\n" + rows)
    made = Database(base=str(tmp_path), tell=lambda text: None)
    made.pin("batch_rows", "20")
    made.execute(STREAM)
    return made


class LiveHost:
    """A local host whose job is changed between batches, while a thread of its own runs it."""

    def __init__(self, job: Job, database: Database) -> None:
        self.kept = KeptResults()
        self.host = LocalHost(job, database.sources(follow=False), [self.kept])
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._run)

    @property
    def job(self) -> Job:
        return self.host.job

    @property
    def clock(self) -> Clock:
        return self.host.clock

    @property
    def summary(self) -> Summary:
        return self.host.summary

    def change(self, job: Job) -> None:
        with self.lock:
            self.host.change(job)

    def held(self) -> Held | None:
        return None

    def _run(self) -> None:
        while not self.host.is_done:
            with self.lock:
                self.host.batch()


def together(*works: Callable[[], None]) -> None:
    """Do all works at once; what fails in one of them fails here."""
    problems: list[BaseException] = []
    begin = threading.Barrier(len(works))

    def doing(work: Callable[[], None]) -> None:
        begin.wait()
        try:
            work()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=doing, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread waits for ever"
    if problems:
        raise problems[0]


def comes_and_goes(database: Database, who: int) -> None:
    """Registers pairs of views and a bare query, and drops every second pair again."""
    for turn in range(TURNS):
        a, b = f"a{who}_{turn}", f"b{who}_{turn}"
        database.execute(
            f"CREATE VIEW {a} AS SELECT k FROM s [Range {turn}];"
            f"CREATE VIEW {b} AS SELECT k FROM {a}; SELECT k FROM {b};"
        )
        with pytest.raises(MillstreamError):
            database.execute(f"CREATE VIEW wrong{who} AS SELECT k FROM {a}; SELECT no FROM {b};")
        (bare,) = database.catalog.readers_of(b)
        if turn % 2:
            database.execute(f"DROP QUERY {bare.name}; DROP VIEW {b}; DROP VIEW {a};")


def check(database: Database) -> None:
    """What one look at the contents shows is a state that some whole scripts have left."""
    contents = database.contents
    entries, queries = set(contents.catalog.entries), {q.name.lower() for q in contents.queries}
    assert {n.replace("a", "b") for n in entries if n[0] == "a"} == {
        n for n in entries if n[0] == "b"
    }
    assert not any(name.startswith("wrong") for name in entries)
    for reader, names in contents.catalog.reads.items():
        assert reader in queries and set(names) <= entries, reader
    assert entries - {"s"} <= queries


def expected_views() -> set[str]:
    return {f"{x}{w}_{t}" for x in "ab" for w in range(THREADS) for t in range(0, TURNS, 2)}


def watching(database: Database, done: threading.Event) -> Callable[[], None]:
    def watch() -> None:
        while not done.is_set():
            check(database)
            assert database.job().queries is not None
            database.describe("s")

    return watch


def all_at_once(database: Database) -> None:
    done = threading.Event()
    left = threading.Semaphore(0)

    def working(who: int) -> Callable[[], None]:
        def work() -> None:
            try:
                comes_and_goes(database, who)
            finally:
                left.release()

        return work

    def ending() -> None:
        for _ in range(THREADS):
            left.acquire()
        done.set()

    together(*(working(who) for who in range(THREADS)), watching(database, done), ending)


def test_no_update_is_lost_and_no_script_is_seen_in_part(database: Database) -> None:
    replayed: dict[str, str] = {}
    database.events.subscribe(lambda e: replayed.update({e.query.name: "there"}), QueryRegistered)
    database.events.subscribe(lambda e: replayed.pop(e.query.name), QueryDropped)
    all_at_once(database)
    check(database)
    assert set(database.catalog.entries) - {"s"} == expected_views()
    bare = [name for name in database.queries if name.startswith("q")]
    assert len(bare) == THREADS * TURNS // 2
    assert set(replayed) == set(database.queries), "events come in the order of what happened"


@pytest.mark.slow
def test_a_running_job_has_what_is_registered(database: Database) -> None:
    (first,) = database.execute("SELECT count(*) AS n, sum(k) AS k FROM s")
    host = database.start_run(lambda job: LiveHost(job, database), None, follow=False)
    host.thread.start()
    all_at_once(database)
    host.thread.join(60)
    total = sum(t % 3 for t in range(1, 401))
    assert host.host.content(first.name).to_pylist() == [{"n": 400, "k": total}]
    assert {q.name for q in host.job.queries} == set(database.queries)
    assert set(host.host.content("a0_0").schema.names) == {"k"}
    database.end()


def test_a_name_is_dropped_or_read_and_never_both(database: Database) -> None:
    for turn in range(30):
        database.execute(f"CREATE STREAM x{turn} (t int, k int) ORDER BY t")

        def read(name: str = f"x{turn}") -> None:
            try:
                database.query(f"SELECT k FROM {name} [Now]")
            except MillstreamError as error:
                assert "does not exist" in error.message

        def drop(name: str = f"x{turn}") -> None:
            try:
                database.drop(name)
            except MillstreamError as error:
                assert "is used by query" in error.message

        together(read, drop)
        is_there = f"x{turn}" in database.catalog.entries
        assert bool(database.catalog.readers_of(f"x{turn}")) == is_there


def test_queries_that_come_while_a_run_is_made_are_part_of_it(database: Database) -> None:
    def register() -> None:
        for _ in range(20):
            database.query("SELECT k FROM s [Now]")

    hosts: list[LiveHost] = []
    refused: list[MillstreamError] = []

    def run() -> None:
        try:
            hosts.append(database.start_run(lambda job: LiveHost(job, database), None, False))
        except MillstreamError as error:
            refused.append(error)

    together(register, run, run, register)
    (host,) = hosts
    assert [error.message for error in refused] == ["the job runs already"]
    assert {q.name for q in host.job.queries} == set(database.queries)
    assert len(host.job.queries) == 40
    database.end()


def test_a_host_that_refuses_a_change_leaves_the_database_as_it_was(database: Database) -> None:
    class Refusing(LiveHost):
        def change(self, job: Job) -> None:
            raise MillstreamError("this cannot be changed")

    database.start_run(lambda job: Refusing(job, database), None, follow=False)
    with pytest.raises(MillstreamError, match="cannot be changed"):
        database.query("SELECT k FROM s [Now]")
    assert database.queries == {} and not database.catalog.readers_of("s")
    database.end()


def test_a_thread_that_hands_rows_out_is_refused_instead_of_waiting_for_itself(
    database: Database,
) -> None:
    with database.delivery.under_way():
        with pytest.raises(MillstreamError, match="cannot be changed by a function that it has"):
            database.query("SELECT k FROM s [Now]")
        together(lambda: database.execute("SELECT k FROM s [Now]") and None)
    assert list(database.queries) == ["q1"]
    database.query("SELECT k FROM s [Now]")
