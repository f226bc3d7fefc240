"""Calls of aggregates of one's own against their definitions: aggregates, windows and slides by
chance, however the stream is cut, spread over buckets and restarted, native or not."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from millstream.testing import run_script
from oracle.own_calls import OWNS, Over, Own, Tuple, answers, groups_at

CASES = 120
STREAM = "CREATE STREAM bids (ts int, item string, price int) ORDER BY ts SOURCE 'bids.csv';\n"


def some_tuples(rng: random.Random) -> list[Tuple]:
    count, last = rng.randrange(0, 40), rng.choice([15, 60])
    times = sorted(rng.randrange(last) for _ in range(count))
    return [(t, rng.choice("abc"[: rng.randrange(1, 4)]), rng.randrange(9)) for t in times]


def some_window(rng: random.Random) -> Over:
    by = rng.random() < 0.6
    match rng.randrange(5):
        case 0:
            return Over(by)
        case 1:
            return Over(by, rows=rng.randrange(1, 7))
        case 2:
            return Over(by, rows=rng.randrange(1, 9), slide=rng.randrange(1, 9))
        case 3:
            return Over(by, length=rng.randrange(0, 12), active=rng.random() < 0.4)
    return Over(by, length=rng.randrange(0, 12), slide=rng.randrange(1, 12))


def some_owns(rng: random.Random, over: Over, owns: Sequence[Own] = OWNS) -> list[Own]:
    fit = [own for own in owns if not over.active or own.left is not None]
    return rng.sample(fit, min(rng.choice([1, 1, 2, 3]), len(fit)))


def some_settings(rng: random.Random) -> dict[str, str]:
    return {
        "batch_rows": rng.choice(["1", "3", "10", "auto"]),
        "buckets": rng.choice(["1", "2", "5"]),
        "native": rng.choice(["on", "off"]),
        "rules": rng.choice(["on", "off"]),
        "strategy": rng.choice(["negative", "direct", "update_pattern"]),
    }


def check(
    folder: Path,
    tuples: list[Tuple],
    queries: dict[str, tuple[str, list[tuple]]],
    seed: int,
    owns: Sequence[Own] | None = None,
) -> None:
    rng = random.Random(-seed)
    lines = ["ts,item,price", *(f"{t},{item},{price}" for t, item, price in tuples)]
    (folder / "bids.csv").write_text("\n".join(lines) + "\n")
    views = [f"CREATE VIEW {name} AS {text};" for name, (text, _) in queries.items()]
    defined = [own.text for own in owns or (*OWNS, MAINTAINED, HELD)]
    script = "\n".join([STREAM, *defined, *views])
    found = run_script(script, folder, some_settings(rng), restart=rng.random() < 0.4)
    for name, (text, expected) in queries.items():
        table = found.get(name)
        rows = [] if table is None else list(zip(*(c.to_pylist() for c in table.columns)))
        assert Counter(rows) == Counter(expected), text


@pytest.mark.parametrize("seed", range(CASES))
def test_calls_over_windows(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    tuples = some_tuples(rng)
    queries = {}
    for i in range(4):
        over = some_window(rng)
        owns = some_owns(rng, over)
        calls = ", ".join(f"{own.name}(price) {over.text}" for own in owns)
        text = f"SELECT item, {calls} FROM bids"
        queries[f"v{i}"] = (text, answers(owns, over, tuples))
    check(tmp_path, tuples, queries, seed)


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_calls_on_the_bare_stream_and_in_groups(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed + 10_000)
    tuples = some_tuples(rng)
    queries = {}
    for i in range(4):
        by = rng.random() < 0.5
        owns = rng.sample([own for own in OWNS if not own.is_blocking], rng.choice([1, 2]))
        calls = ", ".join(f"{own.name}(price)" for own in owns)
        text = f"SELECT item, {calls} FROM bids{' GROUP BY item' if by else ''}"
        queries[f"v{i}"] = (text, answers(owns, Over(by), tuples))
    check(tmp_path, tuples, queries, seed)


MAINTAINED = replace(
    OWNS[0],
    name="summed",
    text=OWNS[0].text[OWNS[0].text.index("WINDOW") :].replace("total", "summed"),
)
"""A window version alone, which EXPIRE maintains."""

HELD = Own(
    "here",
    """WINDOW AGGREGATE here(x int) : int {
         TABLE inwindow(v);
         INITIALIZE : ITERATE : { INSERT INTO RETURN SELECT count(*) FROM inwindow; }
         EXPIRE : { INSERT INTO RETURN SELECT count(*) - 1 FROM inwindow; }
       }""",
    lambda prices: [(len(prices),)],
    has_base=False,
)
"""One that looks at `inwindow`."""


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_groups_of_windows(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed + 20_000)
    tuples = some_tuples(rng)
    queries = {}
    for i, own in enumerate(rng.sample([OWNS[0], OWNS[1], OWNS[4], MAINTAINED, HELD], 3)):
        length, rows = rng.choice([(rng.randrange(12), None), (None, rng.randrange(1, 7))])
        window = f"Rows {rows}" if length is None else f"Range {length}"
        text = f"SELECT Rstream(item, {own.name}(price)) FROM bids [{window}] GROUP BY item"
        queries[f"v{i}"] = (text, groups_at(own, length, rows, tuples))
    check(tmp_path, tuples, queries, seed)


RELATIONS = (
    "FROM bids [Now] GROUP BY item",
    "FROM bids [Range 4 Slide 3] GROUP BY item",
    "FROM bids [Partition By item Rows 2]",
    "FROM bids [Rows 3] GROUP BY item",
    "FROM (SELECT item, max(price) AS price FROM bids [Range 5] GROUP BY item)",
    "FROM bids [Range 6] WHERE price > (SELECT min(price) FROM bids [Range 6])",
)
SUMMED = """
WINDOW AGGREGATE summed(x int) : (total int, n int) {
  TABLE state(total int);
  TABLE inwindow(v);
  INITIALIZE : {
    INSERT INTO state VALUES (x);
    INSERT INTO RETURN VALUES (x, 1);
  }
  ITERATE : {
    UPDATE state SET total = total + x;
    INSERT INTO RETURN SELECT total, (SELECT count(*) FROM inwindow) FROM state;
  }
  EXPIRE : {
    UPDATE state SET total = total - oldest();
    INSERT INTO RETURN SELECT total, (SELECT count(*) FROM inwindow) - 1 FROM state;
  }
}
"""


@pytest.mark.parametrize("seed", range(CASES // 6))
def test_window_versions_beside_built_in_aggregates(seed: int, tmp_path: Path) -> None:
    """Without a base version, whatever the order in which rows leave."""
    rng = random.Random(seed + 30_000)
    rows = "\n".join(f"{t},{item},{price}" for t, item, price in some_tuples(rng))
    (tmp_path / "bids.csv").write_text(f"ts,item,price\n{rows}\n")
    views = [
        f"CREATE VIEW v{i} AS SELECT summed(price), sum(price) AS s, count(*) AS c {relation};"
        for i, relation in enumerate(RELATIONS)
    ]
    found = run_script(STREAM + SUMMED + "\n".join(views), tmp_path, some_settings(rng))
    shown = [
        row for table in found.values() if "s" in table.schema.names for row in table.to_pylist()
    ]
    assert shown or not rows
    assert all((row["total"], row["n"]) == (row["s"], row["c"]) for row in shown)


def test_names_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("ts,item,price\n1,lamp,3\n2,lamp,4\n")
    script = """
AGGREGATE "So far"("x;" int) : int {
  TABLE "t(" ("v'" int) AS VALUES (0);
  UPDATE "t(" SET "v'" = "v'" + "x;";
  INSERT INTO RETURN SELECT "v'" FROM "t(";
}
CREATE VIEW v AS SELECT "So far"(price) AS n, "upper"(item) AS item FROM bids;
"""
    found = run_script(STREAM + script, tmp_path)["v"]
    assert found.select(["n", "item"]).to_pylist() == [
        {"n": 3, "item": "LAMP"},
        {"n": 7, "item": "LAMP"},
    ]
