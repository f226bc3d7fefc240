"""Checkpoints: what fits is taken up, the rest is told or refused, damage is never an answer."""

from pathlib import Path

import pytest

from millstream.cli.running import Options, receivers_for
from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.spark.host import SparkHost
from spark.command import BIDS, files, write_bids

pytestmark = pytest.mark.spark


class Run:
    """Runs of one script on one checkpoint, each stopping after some batches."""

    def __init__(self, spark, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.notices: list[str] = []

    def go(
        self,
        text: str = BIDS,
        batches: int | None = None,
        checkpoint: str | None = None,
        restart: tuple[str, ...] = (),
        closes: bool = False,
        **settings: str,
    ) -> None:
        session = Database(base=str(self.folder), tell=lambda text: None)
        session.recall(checkpoint or str(self.checkpoint))
        for name, value in {"batch_rows": "100", **settings}.items():
            session.pin(name, value)
        session.execute(text)
        job = session.job(frozenset(session.queries))
        options = Options(self.folder / "script.sql", out=self.folder / "out", changes=True)
        self.notices = []
        host = SparkHost(
            self.spark,
            job,
            lambda commit: receivers_for(job, options, commit),
            checkpoint or str(self.folder / "checkpoint"),
            tell=lambda notice: self.notices.append(notice.message),
            restart=restart,
            closes=closes,
        )
        first = host.commit.batch if host.commit else -1

        def enough() -> bool:
            return (
                batches is not None
                and host.commit is not None
                and (host.commit.batch - first >= batches)
            )

        host.run(enough)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def last(self, pattern: str) -> Path:
        return sorted(self.checkpoint.glob(pattern))[-1]


@pytest.fixture
def runs(spark, tmp_path: Path) -> Run:
    write_bids(tmp_path, 600)
    return Run(spark, tmp_path)


@pytest.fixture(scope="module")
def whole(spark, tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    write_bids(folder, 600)
    Run(spark, folder).go()
    return files(folder / "out")


def test_a_stopped_run_goes_on(runs: Run, whole) -> None:
    runs.go(batches=2)
    runs.go()
    assert files(runs.folder / "out") == whole
    assert runs.notices == []


@pytest.mark.parametrize("victim", ["state/level1/bucket0/*.state", "commits/*.json"])
def test_a_cut_off_file_is_gone_back_on(runs: Run, whole, victim: str) -> None:
    runs.go(batches=2)
    path = runs.last(victim)
    path.write_bytes(path.read_bytes()[:-7])
    runs.go()
    assert files(runs.folder / "out") == whole
    assert any("going back a batch" in notice for notice in runs.notices)


def test_a_changed_byte_in_a_chunk_is_noticed(runs: Run, whole) -> None:
    runs.go(batches=2)
    path = runs.last("state/level1/bucket1/*.state")
    data = bytearray(path.read_bytes())
    data[200] ^= 255
    path.write_bytes(bytes(data))
    runs.go()
    assert files(runs.folder / "out") == whole
    assert any("damaged" in notice for notice in runs.notices)


def test_two_damaged_batches_are_refused_by_name(runs: Run) -> None:
    runs.go(batches=3)
    for path in sorted(runs.checkpoint.glob("commits/*.json"))[-2:]:
        path.write_bytes(b"nothing")
    with pytest.raises(MillstreamError) as refused:
        runs.go()
    assert f'checkpoint "{runs.checkpoint}" cannot be used' in refused.value.message


def test_another_computation_is_refused_and_restarted_when_asked(runs: Run, whole) -> None:
    """Bare queries are known by what they compute; named ones by their names."""
    runs.go(batches=2)
    changed = BIDS.replace("[Range 40]", "[Range 41]").replace("price > 5", "price > 6")
    before = files(runs.folder / "out")
    with pytest.raises(MillstreamError, match='query "recent" cannot go on from checkpoint'):
        runs.go(changed)
    assert files(runs.folder / "out") == before
    runs.go(changed, restart=("recent",))
    assert runs.notices == [
        'query "recent" begins with the content it has now; its earlier result is kept',
        'query "q8" is new since the last run: it begins with the content it has now',
        'query "q1" of the last run is gone: its state is dropped, its result stays',
    ]
    after = files(runs.folder / "out")
    assert after["recent.changes.1.csv"] == before["recent.changes.csv"]
    changed_ones = {n for n in whole if after[n] != whole[n]} - {"recent.csv"}
    assert changed_ones == {"q1.csv", "recent.changes.csv"}
    assert whole["q1.csv"].startswith(after["q1.csv"]), "what is gone stays as it was"


def test_time_goes_on_after_the_end_when_asked(runs: Run, whole, tmp_path_factory) -> None:
    from local.script import Script

    runs.go(batches=3)
    runs.go(closes=True)
    here = Script(tmp_path_factory.mktemp("here"))
    write_bids(here.folder, 600)
    done = here.start("--changes", "--close")
    assert done.wait(60) == 0
    assert files(runs.folder / "out") == files(here.out) != whole


def test_another_declaration_is_refused_by_name(runs: Run) -> None:
    runs.go(batches=2)
    with pytest.raises(MillstreamError) as refused:
        runs.go(BIDS.replace("SLACK 3", "SLACK 4"))
    assert 'another declaration of stream "bids"' in refused.value.message


def test_the_number_of_buckets_stays(runs: Run, whole) -> None:
    runs.go(batches=2, buckets="2")
    runs.go(buckets="3")
    assert runs.notices == ["buckets = 2 is kept from the checkpoint"]
    assert files(runs.folder / "out") == whole


def test_a_finished_run_ends_again(runs: Run, whole) -> None:
    runs.go()
    runs.go()
    assert files(runs.folder / "out") == whole


def test_a_query_that_joins_later_sees_what_comes_from_then_on(runs: Run) -> None:
    """One level more than before, over a view whose rows were there before it came."""
    added = BIDS + "CREATE VIEW sizes AS SELECT n, count(*) AS items FROM recent GROUP BY n;"
    runs.go(batches=3)
    runs.go(added, batches=2)
    runs.go(added)
    assert not any("sizes" in notice for notice in runs.notices)
    changes = (runs.folder / "out" / "sizes.changes.csv").read_text().splitlines()[1:]
    rows: dict[str, int] = {}
    for op, _, n, items in (line.split(",") for line in changes):
        rows.pop(n, None)
        if op != "-":
            rows[n] = int(items)
            assert 0 < rows[n] <= 11
    final = (runs.folder / "out" / "sizes.csv").read_text().splitlines()[1:]
    assert {line.split(",")[0]: int(line.split(",")[1]) for line in final} == rows


NESTED = """
CREATE STREAM bids (item bigint, price double, ts bigint) ORDER BY ts SLACK 3 SOURCE 'bids.csv';
CREATE VIEW busy AS SELECT item FROM (SELECT DISTINCT item FROM bids [Range 12]) d WHERE item > 1;
CREATE VIEW pairs AS SELECT DISTINCT a.item FROM bids [Range 9] a, bids [Range 5] b
  WHERE a.item = b.item;
"""
VIEW = "CREATE VIEW seen AS SELECT DISTINCT item FROM bids [Range 12];"
WITH_VIEWS = NESTED.replace("CREATE VIEW busy", f"{VIEW} CREATE VIEW busy")


def test_plans_stay_as_they_were_whatever_is_set_or_added(spark, tmp_path: Path) -> None:
    """Other rules, a view that stands in a query, and another strategy, after each other."""
    write_bids(tmp_path, 600)
    (tmp_path / "whole").mkdir()
    write_bids(tmp_path / "whole", 600)
    Run(spark, tmp_path / "whole").go(NESTED)
    runs = Run(spark, tmp_path)
    runs.go(NESTED, batches=1, strategy="direct")
    runs.go(NESTED, batches=1, rules="off")
    assert runs.notices == ["rules = on is kept from the checkpoint"]
    runs.go(WITH_VIEWS, batches=1)
    runs.go(WITH_VIEWS)
    expected, found = files(tmp_path / "whole" / "out"), files(tmp_path / "out")
    assert {name for name in expected if found[name] != expected[name]} == set()


def test_changes_that_are_asked_for_later_begin_then(runs: Run) -> None:
    host_of_no_changes(runs, batches=2)
    runs.go(batches=1)
    assert 'changes of "recent" are emitted from now on: rows of before may leave unseen' in (
        runs.notices
    )
    runs.go()
    assert not any("from now on" in notice for notice in runs.notices)


def host_of_no_changes(runs: Run, batches: int) -> None:
    """A run that nobody has asked for changes of stored results."""
    session = Database(base=str(runs.folder), tell=lambda text: None)
    session.pin("batch_rows", "100")
    session.execute(BIDS)
    host = SparkHost(runs.spark, session.job(), lambda commit: [], str(runs.checkpoint))
    host.run(lambda: host.commit is not None and host.commit.batch >= batches - 1)
