"""What operators keep: each says it, none keeps anything else, and what is held is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from millstream.algebra.node import Node, walk
from millstream.database import Database
from millstream.engine.holdings import Held
from millstream.engine.state_report import structure_of
from millstream.errors import MillstreamError
from millstream.local.host import LocalHost
from millstream.operators import OPERATORS, Rows
from millstream.plan.bounds import bound
from millstream.plan.memory import growing
from plan.table import read_table

SCRIPT, ENTRIES = read_table()
MORE = (
    "SELECT DISTINCT src FROM l1 [Partition By src Rows 10 Range 30]",
    "Istream(SELECT DISTINCT src FROM l1 [Range 30])",
    "Dstream(SELECT src FROM l1 [Range 30])",
)
BIDS = "CREATE STREAM bids (ts timestamp, item string, price int) ORDER BY ts SOURCE 'bids.csv';"


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_an_operator_with_state_says_what_it_keeps(operator: type[Node]) -> None:
    says = any("state_parts" in vars(kind) for kind in operator.__mro__ if kind is not Node)
    assert says != operator.stateless


def run_all(folder: Path, strategy: str, queries: Iterable[str]) -> list[Held]:
    """Queries of the table in one job, after each of its batches."""
    script = SCRIPT
    for i, name in enumerate(("l1", "l2", "l3")):
        rows = [f"{t},{'abcd'[t * (i + 2) % 4]},{('ftp', 'web')[t % 2]},{t}" for t in range(1, 90)]
        (folder / f"{name}.csv").write_text("\n".join(["ts,src,protocol,bytes", *rows]) + "\n")
        begin, end = f"CREATE STREAM {name} (", "ORDER BY ts;"
        at = script.index(end, script.index(begin)) + len(end) - 1
        script = f"{script[:at]} SOURCE '{name}.csv'{script[at:]}"
    database = Database(base=str(folder), tell=lambda text: None)
    database.execute(f"SET batch_rows = 20; SET buckets = 2; SET strategy = {strategy};" + script)
    database.execute("INSERT INTO hosts VALUES ('a', 'ann'), ('b', 'bob');")
    for table, value in (("quotas", "7"), ("owners", "'ann'")):
        for t in (1, 40, 80):
            database.execute(f"INSERT INTO {table} VALUES ('{'abc'[t % 3]}', {value}) AT {t};")
    for query in queries:
        database.execute(query)
    host = LocalHost(database.job(frozenset(database.queries)), database.sources(follow=False), [])
    found = []
    while not host.is_done:
        host.batch()
        found.append(host.held())
    return found


QUERIES = [entry.query for entry in ENTRIES if not entry.query.startswith("SET")]


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> list[Held]:
    folder = tmp_path_factory.mktemp("links")
    return run_all(folder, "update_pattern", [*QUERIES, *MORE])


def nodes(held: Held) -> Iterator[Node]:
    yield from {n for root in held.job.graph.roots for n in walk(root)}


def undeclared(held: Held) -> list[tuple[str, str]]:
    """Parts of states that no operator says it keeps."""
    said = {(n.state_name, kept.part) for n in nodes(held) for kept in n.state_parts}
    kinds = {n.state_name: type(n).__name__ for n in nodes(held)}
    return [(kinds[name], part) for name, part in held.found if (name, part) not in said]


def test_nobody_keeps_what_it_does_not_say(batches: list[Held]) -> None:
    assert len(batches) >= 4
    assert not any(map(undeclared, batches))


@pytest.mark.parametrize("strategy", ["negative", "direct"])
def test_nor_under_another_strategy(tmp_path: Path, strategy: str) -> None:
    found = run_all(tmp_path, strategy, QUERIES[::5])
    assert len(found) >= 4 and not any(map(undeclared, found))
    kinds = {type(n).__name__ for n in nodes(found[0])}
    assert ("Retract" in kinds) == (strategy == "negative")
    words = {structure_of(n, kept) for n in nodes(found[0]) for kept in n.state_parts}
    assert ("calendar" in words and "queue" in words) or strategy == "direct"


def test_every_part_that_is_said_is_kept_by_somebody(batches: list[Held]) -> None:
    """Of every operator and part that is not said to be empty, some query of the table has rows."""
    said, seen = set(), set()
    for held in batches:
        for node in nodes(held):
            for kept in node.state_parts:
                part = kept.part.partition(" ")[0]
                said.add((type(node).__name__, part))
                if held.of(node, kept.part).rows:
                    seen.add((type(node).__name__, part))
    assert said - seen == NEVER_SEEN


NEVER_SEEN = {("SemiJoin", "waiting"), ("TopK", "far")} | {
    ("DeltaStar", "known"),
    ("DeltaStar", "promised"),
    ("Retract", "due"),
}
"""What a row with a partner will do is told when it comes; the others are for many rows, and a
negation with many readers."""


def test_what_is_said_to_be_empty_is(batches: list[Held]) -> None:
    empty = 0
    for held in batches:
        for node in nodes(held):
            for kept in node.state_parts:
                if bound(node, kept).startswith("nothing"):
                    empty += 1
                    assert held.of(node, kept.part).rows == 0, (node.text, kept)
    assert empty > 10


def test_the_sum_is_what_the_host_counts(batches: list[Held]) -> None:
    held = batches[-1]
    assert sum(one.rows for one in held.found.values()) == sum(
        part.rows if hasattr(part, "rows") else part.num_rows
        for states in held.states
        for state in states.values()
        for part in state.values()
    )
    assert all(one.bytes > 0 and one.chunks > 0 for one in held.found.values() if one.rows)


def test_a_query_whose_state_grows_has_a_part_without_a_bound() -> None:
    database = Database(tell=lambda text: None)
    database.execute(SCRIPT)
    told = 0
    for entry in ENTRIES:
        query = database.execute(entry.query)[-1]
        grows = bool(growing(query.plan, query.form == "complete"))
        report = database.explain(query, "state")
        body = [line for line in report.splitlines() if not line.startswith("--")]
        assert not grows or any("none: " in line for line in body), report
        told += grows
    assert told > 10


@pytest.mark.parametrize(("much", "most"), [(32_768, 31), (4, 90)], ids=["table", "index"])
def test_silent_partitions_are_forgotten(tmp_path: Path, monkeypatch, much, most) -> None:
    """A window by rows and time holds nothing of partitions that had no row for that time, and
    counts them anew when they come back; of many it holds a few longer."""
    monkeypatch.setattr("millstream.state.by_key.MUCH", much)
    monkeypatch.setattr("millstream.state.by_key.OFTEN", 0)
    monkeypatch.setattr("millstream.state.index.SMALL", 8)
    came = [(t, f"k{t % 200}") for t in range(600)]
    (tmp_path / "s.csv").write_text("\n".join(["t,k", *(f"{t},{k}" for t, k in came)]) + "\n")
    database = Database(base=str(tmp_path), tell=lambda text: None)
    database.execute("SET batch_rows = 10; SET buckets = 1;")
    database.execute("CREATE STREAM s (t int, k string) ORDER BY t SOURCE 's.csv';")
    query = database.query("SELECT t FROM s [Partition By k Rows 2 Range 20]")
    host = LocalHost(database.job(), database.sources(follow=False), [])
    while not host.is_done:
        host.batch()
        rows = host.content(query.name).column(0).to_pylist()
        assert rows == list(range(max(0, rows[-1] - 20), rows[-1] + 1))
        held = host.held()
        (window,) = (n for n in nodes(held) if isinstance(n, Rows))
        assert held.of(window, "counts").rows <= most
        assert held.of(window, "kept").rows <= most
    assert host.batches >= 60


def prices(folder: Path) -> Path:
    rows = [f"2024-05-01 10:00:{t:02},{'pen' if t % 2 else 'ink'},{t}" for t in range(1, 31)]
    (folder / "bids.csv").write_text("\n".join(["ts,item,price", *rows]) + "\n")
    return folder


def test_a_report_before_and_after_a_run(tmp_path: Path) -> None:
    told: list[str] = []
    database = Database(base=str(prices(tmp_path)), tell=told.append)
    (query,) = database.execute(
        BIDS + "CREATE VIEW v AS SELECT item, max(price) AS most FROM bids [Range 10 Seconds] "
        "GROUP BY item;"
    )
    before = database.explain(query, "state").splitlines()
    assert before[0] == "-- v: complete, state"
    assert before[2:] == [
        "  what it keeps                     structure       at most",
        "Stored, read from the state below",
        "GroupBy item: max(#arg0) as #agg0",
        "  totals and the row shown          array by group  "
        "one row per item of rows of bids in the last 10 seconds",
        "  values for max(#arg0) as #agg0    in order        "
        "values of rows of bids in the last 10 seconds",
        "  rows whose end lies ahead         queue           rows of bids in the last 10 seconds",
        "Exchange by item",
        "  rows that wait for the heartbeat  queue           "
        "rows of instants that are not final yet",
        "-- it has not run: what it holds is not known",
    ]
    host = LocalHost(database.job(), database.sources(follow=False), [])
    database.held = host.held
    host.run()
    database.execute("EXPLAIN STATE v")
    after = {line.split("  ")[1]: line for line in told[0].splitlines() if line.startswith("  ")}
    assert after["rows whose end lies ahead"].split("seconds")[1].strip().startswith("11 rows, ")
    assert after["totals and the row shown"].split("seconds")[1].strip().startswith("2 rows, ")
    assert after["rows that wait for the heartbeat"].endswith("  nothing")
    assert told[0].splitlines()[-1].startswith("-- in all ")
    other = database.query("SELECT item FROM bids [Now]")
    assert "it has not run" in database.explain(other, "state")


def test_a_folder_without_a_batch(tmp_path: Path) -> None:
    from millstream.cli.explaining import explain_script

    script = prices(tmp_path) / "s.sql"
    script.write_text(BIDS + "SELECT item FROM bids [Now];")
    with pytest.raises(MillstreamError, match="holds no finished batch"):
        explain_script(script, "state", None, None, tmp_path / "none", ())
    with pytest.raises(MillstreamError, match="--checkpoint is for --stage state"):
        explain_script(script, "bound", None, None, tmp_path / "none", ())
    assert "it has not run" in explain_script(script, "State", None, None, None, ())
