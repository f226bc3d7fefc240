"""Queries come and go at any batch: those that stay are untouched, those that come are right."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from laws.live import COLUMNS, Live

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
    "sold twice": "SELECT STREAMED a.item FROM sold [Range 8] a, bids [Range 3] b "
    "WHERE a.item = b.item",
    "elements": "SELECT Istream(item, price) FROM bids [Range 2] WHERE price > 30",
    "plain": "SELECT item FROM bids WHERE price < 30",
    "last": "SELECT STREAMED item, price FROM bids [Partition By item Rows 2]",
}


def write(folder: Path, chance: random.Random, rows: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, most in (("bids", 6), ("sold", 9)):
        ts, lines = 0, [COLUMNS[name]]
        for _ in range(rows):
            ts += chance.choice((0, 1, 1, 2))
            price = f",{chance.randrange(80)}" if name == "bids" else ""
            lines.append(f"{ts},{chance.randrange(most)}{price}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def without(folder: Path, target: Path, seen: int) -> None:
    """The files without the rows of a batch and those before it."""
    target.mkdir()
    for name in COLUMNS:
        head, *rows = (folder / f"{name}.csv").read_text().splitlines()
        (target / f"{name}.csv").write_text("\n".join([head, *rows[seen:]]) + "\n")


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
def test_a_query_that_shares_nothing_is_one_of_a_job_that_begins_then(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(100 + seed)
    write(tmp_path, chance, 60)
    given = settings(chance)
    live, alone = Live(tmp_path, VIEWS, given), Live(tmp_path, VIEWS, given)
    alone.to_the_end()
    waiting, begun = list(FRESH), {}
    chance.shuffle(waiting)
    while live.batch():
        if waiting and chance.random() < 0.5:
            name = waiting.pop()
            notices = live.add(name, FRESH[name])
            assert bool(notices) == (name != "plain")
            begun[name] = min(60, live.host.batches * int(given["batch_rows"]))
        if chance.random() < 0.3:
            live.restart()
    for name, seen in begun.items():
        without(tmp_path, tmp_path / name, seen)
        fresh = Live(tmp_path / name, {name: FRESH[name]}, given)
        fresh.to_the_end()
        assert live.told(name) == fresh.told(name), (name, seen)
    for name in VIEWS:
        assert live.told(name) == alone.told(name)
        assert live.content(name) == alone.content(name)


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


def test_the_rows_of_a_query_that_began_late_are_not_those_of_another(tmp_path: Path) -> None:
    """The second of two equal queries reads what the first reads, not what the first has seen."""
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


def test_a_view_that_began_late_is_read_as_it_is(tmp_path: Path) -> None:
    live = counted(tmp_path)
    live.batch()
    assert live.add("sums", "SELECT item, sum(price) AS total FROM bids GROUP BY item")
    live.batch()
    live.batch()
    assert not live.add("dear", "SELECT item, total FROM sums WHERE total > 0")
    live.to_the_end()
    assert live.content("dear") == live.content("sums")


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


def test_a_query_that_loses_its_content_before_it_begins_says_so(tmp_path: Path) -> None:
    live = counted(tmp_path)
    for _ in range(3):
        live.batch()
    live.restart("direct")
    text = "SELECT count(*) AS n FROM (SELECT item, count(*) AS n FROM bids GROUP BY item)"
    assert not live.add("groups", text)
    live.session.execute('DROP QUERY "totals"')
    (notice,) = live.host.change(live._job())
    assert 'query "groups" joins a running job' in notice.message
