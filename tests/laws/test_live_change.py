"""Queries come and go at any batch: those that stay are untouched, those that come are right."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from laws.live import COLUMNS, Live
from millstream.database import Database
from millstream.engine import beginning, trail
from millstream.local.host import LocalHost
from millstream.testing.run import KeptResults

VIEWS = {
    "totals": "SELECT item, count(*) AS n, sum(price) AS total FROM bids [Range 9] GROUP BY item",
    "met": "SELECT DISTINCT b.item AS item FROM bids [Range 5] b, sold [Range 7] s "
    "WHERE b.item = s.item",
    "dear": "SELECT b.item AS item, b.price AS price FROM bids [Range 6] b, sold [Range 4] s "
    "WHERE b.item = s.item AND b.price > 20",
}
ABOVE = {
    "many": "SELECT item, n FROM totals WHERE n > 1",
    "sizes": "SELECT n, count(*) AS items FROM totals GROUP BY n",
    "top": "SELECT max(total) AS top, count(*) AS n FROM totals",
    "unmet": "SELECT item, n FROM totals WHERE item NOT IN (SELECT item FROM met)",
    "both": "SELECT t.n AS n, d.price AS price FROM totals t, dear d WHERE t.item = d.item",
    "counts": "SELECT DISTINCT n FROM totals",
    "most": "SELECT item, total FROM totals ORDER BY total DESC LIMIT 2",
    "first": "SELECT item, min(price) AS least FROM dear GROUP BY item",
    "again": VIEWS["totals"],
}
"""Queries over views that run."""

UNKNOWN = ("most", "unmet", "both")
"""Their states do not tell their content: it is not known where only changes are emitted."""

FRESH = {
    "wide": "SELECT STREAMED item, count(*) AS n FROM bids [Range 20] GROUP BY item",
    "many": "SELECT STREAMED count(*) AS n FROM bids [Range 3]",
    "sold twice": "SELECT STREAMED a.item FROM sold [Range 8] a, bids [Range 3] b "
    "WHERE a.item = b.item",
    "unsold": "SELECT item, price FROM bids [Range 6] b "
    "WHERE NOT EXISTS (SELECT * FROM sold [Range 9] s WHERE s.item = b.item)",
    "elements": "SELECT Istream(item, price) FROM bids [Range 2] WHERE price > 30",
    "every": "SELECT Rstream(item, count(*) AS n) FROM bids [Range 7 Slide 3] GROUP BY item",
    "twice": "SELECT STREAMED count(*) AS n FROM (SELECT Dstream(item) FROM bids [Range 4]) "
    "[Range 5]",
    "slots": "SELECT STREAMED item, window_end, count(*) AS n FROM bids [Tumble 6] "
    "GROUP BY item, window_end",
    "hops": "SELECT STREAMED item, window_start, max(price) AS p "
    "FROM bids [Hop 9 Every 4 Offset 1] GROUP BY item, window_start",
    "visits": "SELECT STREAMED item, window_start, count(*) AS n "
    "FROM bids [Partition By item Session 4] GROUP BY item, window_start",
    "plain": "SELECT item FROM bids WHERE price < 30",
    "last": "SELECT STREAMED item, price FROM bids [Partition By item Rows 2]",
    "rows": "SELECT STREAMED item, price FROM bids [Rows 5 Slide 2]",
    "all": "SELECT item, sum(price) AS total FROM bids GROUP BY item",
    "seen": "SELECT DISTINCT item FROM sold",
}
STORED = ("unsold", "all")
UNBOUNDED = ("visits", "last", "rows", "all", "seen")
"""Their windows reach back to the first row."""


def write(folder: Path, chance: random.Random, rows: int, slack: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, most in (("bids", 6), ("sold", 9)):
        ts, lines = 0, [COLUMNS[name]]
        for _ in range(rows):
            ts += chance.choice((0, 1, 1, 2))
            price = f",{chance.randrange(80)}" if name == "bids" else ""
            behind = chance.randrange(slack + 3) if slack else 0  # some arrive late
            lines.append(f"{max(ts - behind, 0)},{chance.randrange(most)}{price}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def only_after(folder: Path, target: Path, instant: int) -> None:
    """The files without the rows up to an instant, and without those that arrive late."""
    target.mkdir()
    for name in COLUMNS:
        head, *rows = (folder / f"{name}.csv").read_text().splitlines()
        kept = [row for row in rows if int(row.partition(",")[0]) > instant]
        (target / f"{name}.csv").write_text("\n".join([head, *kept]) + "\n")


def settings(chance: random.Random) -> dict[str, str]:
    return {"batch_rows": str(chance.choice((3, 5, 8))), "buckets": str(chance.choice((1, 2, 5)))}


@pytest.mark.parametrize("seed", range(8))
def test_a_query_over_what_runs_begins_with_its_content(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    write(tmp_path, chance, 60)
    given = settings(chance)
    told = {f"{n} told": t.replace("SELECT", "SELECT STREAMED", 1) for n, t in ABOVE.items()}
    texts = ABOVE | told
    whole = Live(tmp_path, VIEWS | texts, given)
    live = Live(tmp_path, VIEWS, given)
    waiting = list(texts)
    chance.shuffle(waiting)
    begun: dict[str, int] = {}
    while live.batch():
        whole.batch()
        for name in begun:
            plain = name.removesuffix(" told")
            if plain == name:
                assert live.content(name) == whole.content(name), name
            found = live.replayed(name)
            assert found == whole.content(plain), (name, begun[name], live.host.batches)
        if live.host.batches > 1 and waiting and chance.random() < 0.7:
            for _ in range(min(len(waiting), chance.choice((1, 3)))):
                name = waiting.pop()
                if live.add(name, texts[name]):
                    assert name in UNKNOWN and f"{name} told" in begun
                    live.drop(name)
                    continue
                begun[name] = live.host.clock.beats["bids"]
                if chance.random() < 0.3:
                    live.drop(name)
                    waiting.insert(0, name)
                    del begun[name]
        if chance.random() < 0.3:
            live.restart(chance.choice((None, "negative", "direct", "update_pattern")))
    assert len(begun) > 1
    for name, since in begun.items():
        late = [row for row in live.told(name) if row[1] > since]
        assert sorted(late, key=repr) == sorted(
            (row for row in whole.told(name) if row[1] > since), key=repr
        ), name
    for name in VIEWS:
        assert live.told(name) == whole.told(name)
        assert live.content(name) == whole.content(name)


@pytest.mark.parametrize("seed", range(8))
def test_a_query_that_shares_nothing_begins_as_if_it_had_been_there(
    seed: int, tmp_path: Path
) -> None:
    """Rows that wait for the heartbeat, and those that its windows hold, are read again."""
    chance = random.Random(100 + seed)
    slack = chance.choice((0, 4, 9, 30))
    write(tmp_path, chance, 60, slack)
    given, order = settings(chance), f"SLACK {slack}"
    whole, live = Live(tmp_path, VIEWS | FRESH, given, order), Live(tmp_path, VIEWS, given, order)
    waiting, begun = list(FRESH), dict[str, int]()
    chance.shuffle(waiting)
    while live.batch():
        whole.batch()
        for name in begun:
            if name in STORED:
                assert live.content(name) == whole.content(name), name
            if name in STORED or "STREAMED" in FRESH[name]:
                assert live.replayed(name) == whole.replayed(name), (name, begun[name])
        while waiting and chance.random() < 0.4:
            name = waiting.pop()
            assert live.add(name, FRESH[name]) == ()
            begun[name] = live.host.clock.beats["bids"]
            if chance.random() < 0.2:
                live.drop(name)
                waiting.insert(0, name)
                del begun[name]
        if chance.random() < 0.3:
            live.restart(chance.choice((None, "negative", "direct", "update_pattern")))
    assert begun
    for name, since in begun.items():
        at = 0 if live.session.queries[name].form == "stream" else 1
        late = [row for row in live.told(name) if row[at] > since]
        assert late == [row for row in whole.told(name) if row[at] > since], name
        first = [row for row in live.told(name) if row[at] <= since]
        assert all(row[:2] == ("+", since) for row in first), "what was there at its instant"
    for name in VIEWS:
        assert live.told(name) == whole.told(name)
        assert live.content(name) == whole.content(name)


@pytest.mark.parametrize("seed", range(4))
def test_a_query_that_cannot_have_all_rows_counts_those_after_the_instant_it_names(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginning, "MOST_ROWS", 0)
    chance = random.Random(200 + seed)
    slack = chance.choice((0, 4, 9))
    write(tmp_path, chance, 60, slack)
    given, order = settings(chance), f"SLACK {slack}"
    live, alone = Live(tmp_path, VIEWS, given, order), Live(tmp_path, VIEWS, given, order)
    alone.to_the_end()
    waiting, begun = list(FRESH), dict[str, int]()
    chance.shuffle(waiting)
    while live.batch():
        if live.host.clock.beats["bids"] > 0 and waiting and chance.random() < 0.5:
            name, since = waiting.pop(), live.host.clock.beats["bids"]
            notices = live.add(name, FRESH[name])
            said = f'query "{name}" joins a running job: it counts the rows after {since}'
            assert [n.message for n in notices] == ([said] if name in UNBOUNDED else [])
            if name in UNBOUNDED:
                begun[name] = since
        if chance.random() < 0.3:
            live.restart()
    for name, since in begun.items():
        only_after(tmp_path, tmp_path / name, since)
        fresh = Live(tmp_path / name, {name: FRESH[name]}, given, order)
        fresh.to_the_end()
        assert live.told(name) == fresh.told(name), (name, since)
    for name in VIEWS:
        assert live.told(name) == alone.told(name)


APART = {
    "of bids": "SELECT item, count(*) AS n FROM bids [Range 9] GROUP BY item",
    "of sold": "SELECT item, count(*) AS n FROM sold [Range 9] GROUP BY item",
}
"""Queries over one stream each: their heartbeats have nothing to do with each other."""


@pytest.mark.parametrize("seed", range(8))
def test_a_query_whose_rows_cannot_be_read_again_begins_at_the_instant_it_names(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(300 + seed)
    slack, apart = chance.choice((0, 4, 9)), seed % 2
    write(tmp_path, chance, 90, slack)
    given, order = settings(chance), f"SLACK {slack}"
    views = APART if apart else VIEWS
    texts = {n: FRESH[n] for n in (("sold twice", "unsold") if apart else FRESH)}
    if not apart:
        monkeypatch.setattr(trail, "can_be_reread", lambda stream: False)
    whole, live = Live(tmp_path, views | texts, given, order), Live(tmp_path, views, given, order)
    whole.to_the_end()
    waiting, begun = list(texts), dict[str, int]()
    chance.shuffle(waiting)
    while live.batch():
        if waiting and chance.random() < 0.5:
            name = waiting.pop()
            notices = [notice.message for notice in live.add(name, texts[name])]
            if name in UNBOUNDED:
                assert "it begins with the rows that are read from now on" in notices[0]
            elif notices:
                begun[name] = int(notices[0].rpartition("its answers begin at ")[2])
        if chance.random() < 0.3:
            live.restart(chance.choice((None, "negative", "direct", "update_pattern")))
    assert begun or apart
    for name, since in begun.items():
        is_stream = live.session.queries[name].form == "stream"
        mine, all_of = live.told(name), whole.told(name)
        if since > live.host.clock.beats["bids"]:
            assert mine == [], "time has ended before"
            continue
        if is_stream:
            assert mine == [row for row in all_of if row[0] >= since], name
            continue
        late = [row for row in mine if row[1] > since]
        assert late == [row for row in all_of if row[1] > since], name
        first = [row for row in mine if row[1] <= since]
        assert all(row[:2] == ("+", since) for row in first), name
        assert live.replayed(name) == whole.replayed(name), name
    for name in views:
        assert apart or live.told(name) == whole.told(name)


def test_a_query_is_replaced_at_one_boundary_and_goes_on_with_what_it_shares(tmp_path) -> None:
    write(tmp_path, random.Random(5), 60)
    given = {"batch_rows": "7"}
    live = Live(tmp_path, {"q": VIEWS["totals"]}, given)
    whole = Live(tmp_path, {"q": f"{VIEWS['totals']} HAVING count(*) > 1"}, given)
    for _ in range(4):
        live.batch(), whole.batch()
    assert live.replace("q", f"{VIEWS['totals']} HAVING count(*) > 1") == ()
    while live.batch():
        whole.batch()
        assert live.content("q") == whole.content("q")


def test_a_change_plans_the_new_query_and_no_other(tmp_path, monkeypatch) -> None:
    write(tmp_path, random.Random(6), 40)
    live = Live(tmp_path, VIEWS, {"batch_rows": "7"})
    live.batch()
    planned: list[str] = []
    from millstream.engine import job

    for name in ("chosen", "carried_out"):
        make = getattr(job, name)
        monkeypatch.setattr(
            job, name, lambda root, *rest, make=make: planned.append(root.text) or make(root, *rest)
        )
    live.add("many", ABOVE["many"])
    assert planned and all("n > 1" in text for text in planned)
    planned.clear()
    live.drop("many")
    live.batch()
    assert planned == []


def counted(folder: Path) -> Live:
    """A running view of all rows, four of them in a batch."""
    for name in COLUMNS:
        price = [f",{i}" if name == "bids" else "" for i in range(40)]
        lines = [f"{i},{i % 5}{price[i]}" for i in range(40)]
        (folder / f"{name}.csv").write_text("\n".join([COLUMNS[name], *lines]) + "\n")
    view = {"totals": "SELECT item, count(*) AS n FROM bids GROUP BY item"}
    return Live(folder, view, {"batch_rows": "4"})


def test_the_rows_of_a_query_that_began_late_are_not_those_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of two equal queries reads what the first reads, not what the first has seen."""
    monkeypatch.setattr(beginning, "MOST_ROWS", 0)
    live, top = counted(tmp_path), "SELECT {}item, n FROM totals ORDER BY n DESC, item LIMIT 3"
    joined = {}
    for number, (name, text) in enumerate(
        [("told", top.format("STREAMED ")), ("late", top.format("")), ("later", top.format(""))]
    ):
        live.batch()
        joined[name] = bool(live.add(name, text))
        assert live.host.batches == number + 1
    live.to_the_end()
    assert joined == {"told": False, "late": True, "later": True}
    assert live.replayed("told") == {(0, 8): 1, (1, 8): 1, (2, 8): 1}
    whole = sum(n for _, n in live.content("totals"))
    late, later = (sum(n for _, n in live.content(name)) for name in ("late", "later"))
    assert later < late < whole, "each has seen the rows that were read after it joined"


def test_a_view_that_began_late_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginning, "MOST_ROWS", 0)
    live = counted(tmp_path)
    live.batch()
    assert live.add("sums", "SELECT item, sum(price) AS total FROM bids GROUP BY item")
    live.batch()
    live.batch()
    assert not live.add("dear", "SELECT item, total FROM sums WHERE total > 0")
    live.to_the_end()
    assert live.content("dear") == live.content("sums")


@pytest.mark.parametrize("points", ["fours", "twos"])
def test_a_query_at_points_of_a_view_begins_with_its_content(
    points: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the points of the view nothing is read again: what came before the query is known from the
    view alone. At some of them, what was there at the last one is not, so rows are read again. At
    the end there are, by definition, the bids up to the last point."""
    if points == "twos":
        monkeypatch.setattr(beginning, "MOST_ROWS", 0)
    write(tmp_path, random.Random(f"points {points}"), 60)
    clock = "SELECT Timepoint FROM bids.clockStr WHERE Timepoint % {} = 0"
    sums = "SELECT STREAMED item, count(*) AS n, sum(price) AS s FROM R(bids, twos) GROUP BY item"
    views = {"twos": clock.format(2), "fours": clock.format(4), "sums": sums}
    live = Live(tmp_path, views, {"batch_rows": "20"})
    live.batch()
    live.batch()
    few = f"SELECT STREAMED item, count(*) AS n FROM R(bids, {points}) GROUP BY item"
    assert live.add("few", f"{few} HAVING count(*) > 2") == ()
    assert 'computed from "sums"' in live.session.queries["few"].notices[-1].message
    live.to_the_end()
    bids, sold = (
        [tuple(map(int, line.split(","))) for line in lines[1:]]
        for lines in ((tmp_path / f"{name}.csv").read_text().splitlines() for name in COLUMNS)
    )
    every = 4 if points == "fours" else 2
    last = max(ts for ts, *_ in (*bids, *sold)) // every * every
    counts = Counter(item for ts, item, _ in bids if ts <= last)
    assert live.replayed("few") == Counter({(i, n): 1 for i, n in counts.items() if n > 2})


def test_a_query_over_a_table_and_a_stream_that_are_new_leaves_the_others_alone(tmp_path: Path):
    live, alone = counted(tmp_path), counted(tmp_path)
    (tmp_path / "names.csv").write_text("k,name\n1,one\n3,three\n")
    (tmp_path / "more.csv").write_text("ts,item\n1,7\n30,9\n")
    live.batch()
    live.session.execute(
        "CREATE TABLE names (k bigint, name string) SOURCE 'names.csv';"
        "CREATE STREAM more (ts bigint, item bigint) ORDER BY ts SOURCE 'more.csv';"
    )
    live.add("named", "SELECT DISTINCT item FROM totals WHERE item IN (SELECT k FROM names)")
    live.add("others", "SELECT item, count(*) AS n FROM more GROUP BY item")
    live.to_the_end()
    alone.to_the_end()
    assert live.content("totals") == alone.content("totals")
    assert live.content("named") == {(1,): 1, (3,): 1}
    assert live.content("others") == {(7, 1): 1, (9, 1): 1}


CHANGED = """
CREATE STREAM bids (ts bigint, item bigint, price bigint) ORDER BY ts SLACK 4 SOURCE 'bids.csv';
CREATE TABLE names (item bigint, name string, PRIMARY KEY (item)) SOURCE 'names.csv';
"""
NAMED = {
    "lately": "SELECT b.item AS item, name, count(*) AS n FROM bids [Range 9] b, names "
    "WHERE b.item = names.item GROUP BY b.item, name",
    "ever": "SELECT name, sum(price) AS total FROM bids b, names WHERE b.item = names.item "
    "GROUP BY name",
}


@pytest.mark.parametrize("joins", range(1, 9))
def test_the_changes_of_a_table_are_read_again(joins: int, tmp_path: Path) -> None:
    write(tmp_path, random.Random(joins), 60, slack=4)
    ops = [f"{'insert' if i < 6 else 'update'},{i * 2},{i % 6},name{i}" for i in range(30)]
    (tmp_path / "names.csv").write_text("\n".join(["op,ts,item,name", *ops]) + "\n")

    def host(texts: dict[str, str]) -> tuple[Database, LocalHost]:
        session = Database(base=str(tmp_path), tell=lambda text: None)
        session.pin("batch_rows", "6")
        session.execute(CHANGED)
        session.query(
            "SELECT Istream(item, price) FROM bids [Now] WHERE item IN (SELECT item FROM names)",
            "first",
        )
        for name, text in texts.items():
            session.query(text, name)
        return session, LocalHost(session.job(), session.sources(follow=False), [KeptResults()])

    (session, live), (_, whole) = host({}), host(NAMED)
    for _ in range(joins):
        live.batch(), whole.batch()
    for name, text in NAMED.items():
        session.query(text, name)
    assert live.change(session.job()) == ()
    while not live.is_done:
        live.batch(), whole.batch()
        for name in NAMED:
            assert live.content(name).equals(whole.content(name)), name


def test_files_that_have_gone_are_found_out_before_anything_is_promised(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(6):
        rows = [f"{10 * number + i},{i}" for i in range(10)]
        (folder / f"{number}.csv").write_text("\n".join(["ts,x", *rows]) + "\n")
    session = Database(base=str(tmp_path), tell=lambda text: None)
    session.pin("batch_rows", "10")
    session.execute("CREATE STREAM g (ts bigint, x bigint) ORDER BY ts SLACK 5 SOURCE 'in';")
    session.query("SELECT x FROM g", "plain")
    kept = KeptResults()
    host = LocalHost(session.job(), session.sources(follow=True), [kept], follow=True)
    for _ in range(3):
        host.batch()
    for number in range(2):
        (folder / f"{number}.csv").unlink()
    session.query("SELECT STREAMED count(*) AS n FROM g [Range 20]", "wide")
    session.query("SELECT count(*) AS n FROM g", "every")
    assert [notice.message for notice in host.change(session.job())] == [
        'query "every" joins a running job: it begins with the rows that are read from now on',
        'query "wide" joins a running job: its answers begin at 50',
    ]
    while host.batch():
        pass
    assert [tuple(row.values()) for row in kept.tables()["wide"].to_pylist()] == [("+", 50, 21)]


def test_a_query_that_loses_its_content_before_it_begins_reads_it_again_or_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = counted(tmp_path)
    for _ in range(3):
        live.batch()
    live.restart("direct")
    text = "SELECT count(*) AS n FROM (SELECT item, count(*) AS n FROM bids GROUP BY item)"
    assert not live.add("groups", text)
    live.session.execute('DROP QUERY "totals"')
    assert live.host.change(live._job()) == ()
    monkeypatch.setattr(beginning, "MOST_ROWS", 0)
    (notice,) = live.host.change(live._job())
    assert 'query "groups" joins a running job: it counts the rows after 10' in notice.message


MINUTES = """
CREATE STREAM f (at timestamp, x bigint) ORDER BY at SLACK 10 Minutes SOURCE 'f.csv';
SELECT x FROM f;
"""


def test_rows_that_are_read_and_not_final_count_from_the_first_answer_on(tmp_path: Path) -> None:
    """Twenty rows a minute apart are read, and nine of them are final."""
    rows = [f"2024-05-01 10:{minute:02d}:00,{minute}" for minute in range(30)]
    (tmp_path / "f.csv").write_text("\n".join(["at,x", *rows]) + "\n")
    session = Database(base=str(tmp_path), tell=lambda text: None)
    session.pin("batch_rows", "20")
    session.execute(MINUTES)
    kept = KeptResults()
    host = LocalHost(session.job(), session.sources(follow=False), [kept])
    host.batch()
    session.query("SELECT STREAMED count(*) AS n FROM f [Range 3 Minutes]", "late")
    assert host.change(session.job()) == ()
    host.run()
    told = [(r["op"], str(r["ts"])[11:], r["n"]) for r in kept.tables()["late"].to_pylist()]
    steps = [(f"10:{m:02d}:00", f"10:{m:02d}:00.000001") for m in range(9, 30)]
    assert (
        told
        == [
            ("+", "10:08:59.999999", 3),  # those of 10:06, 10:07 and 10:08
            *(("u", at, n) for here, after in steps for at, n in ((here, 4), (after, 3))),
        ][:-1]
    ), "one comes in every minute, and leaves at the instant after three minutes"
