"""Sequence patterns agree with their definition, by chance, through the whole system: over streams,
views, tables and relations that change, however rows are cut."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from laws.scale import SCALE
from laws.test_over import comparable, numbers, tuples
from laws.test_recognize import settings_of
from millstream.testing import run_script
from oracle.generate_recognize import shuffled
from oracle.generate_sequences import NAMES, random_query, random_rows, written
from oracle.over import admitted
from oracle.sequences import (
    Bin,
    Cell,
    Cells,
    Const,
    Element,
    Key,
    Pattern,
    Query,
    Row,
    Tally,
    relation_answer,
    stream_answer,
)

CHUNK = 50
CASES = 250 if SCALE == 1 else 3_000
COLUMNS = ("ts", "k", "x", "d", "w")
SOURCES = """
CREATE STREAM s (ts int, k int, x int, d double, w string) ORDER BY ts SLACK {slack} SOURCE 's.csv';
CREATE TABLE t (ts int, k int, x int, d double, w string) SOURCE 't.csv';
CREATE TABLE names (k int, called string) SOURCE 'names.csv';
CREATE TABLE changing (n int, k int, x int, d double, w string) KEY (n) SOURCE 'c.csv';
CREATE VIEW c AS SELECT n AS ts, k, x, d, w FROM changing;
CREATE VIEW v AS SELECT ts, k, x + 0 AS x, d, w FROM s WHERE w <> 'b';
AGGREGATE spread(n int) : int {{
  TABLE ends(low int, high int);
  INITIALIZE : {{ INSERT INTO ends VALUES (n, n); }}
  ITERATE : {{
    UPDATE ends SET low = CASE WHEN low IS NULL OR n < low THEN n ELSE low END,
      high = CASE WHEN high IS NULL OR n > high THEN n ELSE high END;
  }}
  TERMINATE : {{ INSERT INTO RETURN SELECT high - low FROM ends; }}
}}
AGGREGATE zigzag(n int) : int {{
  TABLE sums(total int, times int);
  INITIALIZE : {{
    INSERT INTO sums VALUES (n, CASE WHEN n IS NULL THEN 0 ELSE 1 END);
    INSERT INTO RETURN VALUES (n);
  }}
  ITERATE : {{
    UPDATE sums SET total = coalesce(total, 0) + CASE WHEN times % 2 = 0 THEN n ELSE -n END,
      times = times + 1 WHERE n IS NOT NULL;
    INSERT INTO RETURN SELECT total FROM sums;
  }}
}}
AGGREGATE drift(n int) : int LANGUAGE python AS 'drifting:Drift';
"""
DRIFT = """
class Drift:
    first: int
    last: int
    seen: bool

    def initialize(self, n):
        self.first = self.last = 0
        self.seen = False
        self.iterate(n)

    def iterate(self, n):
        if n is not None:
            if not self.seen:
                self.first = n
                self.seen = True
            self.last = n

    def terminate(self):
        return self.last - self.first if self.seen else None
"""
Modification = tuple[str, int, Cells]
WINDOWS = ("[Range 3]", "[Rows 5]", "[Partition By k Rows 3]")


def cells_of(rng: Random) -> list[Cells]:
    return [{"ts": r.at, "k": rng.choice((1, 2, 2)), **r.cells} for r in random_rows(rng, 20)]


def write(rows: list[Cells], folder: Path) -> None:
    lines = [",".join("" if row[c] is None else str(row[c]) for c in COLUMNS) for row in rows]
    for name in ("s", "t"):
        (folder / f"{name}.csv").write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    names = [f"{row['k']},{row['called']}" for row in NAMES]
    (folder / "names.csv").write_text("\n".join(["k,called", *names]) + "\n")
    (folder / "drifting.py").write_text(DRIFT)


def modifications_of(rng: Random, rows: list[Cells]) -> list[Modification]:
    """A table that gets most of its rows at the beginning; then rows come, go and are updated."""
    numbered = [{**row, "ts": number} for number, row in enumerate(rows)]
    there = {row["ts"]: row for row in numbered if rng.random() < 0.7}
    found: list[Modification] = [("+", 0, row) for row in there.values()]
    now = 0
    for _ in range(rng.choice((2, 5, 9)) if numbered else 0):
        now += rng.choice((0, 1, 1, 2))
        row = rng.choice(numbered[-4:] if rng.random() < 0.4 else numbered)
        number = row["ts"]
        if number not in there:
            there[number] = row
            found.append(("+", now, row))
        elif rng.random() < 0.4:
            found.append(("-", now, there.pop(number)))
        else:
            there[number] = {**there[number], "x": rng.choice((0, 1, 2, 3, None))}
            found.append(("u", now, there[number]))
    return found


def write_modifications(found: list[Modification], folder: Path) -> None:
    lines = ["op,ts,n,k,x,d,w"]
    for op, at, row in found:
        cells = ["" if row[c] is None else str(row[c]) for c in COLUMNS]
        lines.append(",".join([op, str(at), *cells]))
    (folder / "c.csv").write_text("\n".join(lines) + "\n")


def of_table(found: list[Modification], now: int) -> list[Cells]:
    """The rows that are in a table at an instant."""
    there: dict = {}
    for op, at, row in found:
        if at <= now:
            there[row["ts"]] = row
            if op == "-":
                del there[row["ts"]]
    return list(there.values())


def of_stream(query: Query, rows: list[Cells], now: int) -> list[tuple]:
    """Instants and rows, of elements that come in this order, when time has come so far."""
    found = stream_answer(query, [Row(row["ts"], row) for row in rows], now)
    return [(at, *row) for at, row in found]


def on_view(rows: list[Cells]) -> list[Cells]:
    return [row for row in rows if row["w"] not in (None, "b")]


def in_window(rows: list[Cells], window: str, now: int) -> list[Cells]:
    """The rows that are in a window at an instant."""
    there = [row for row in rows if row["ts"] <= now]
    if window == "[Range 3]":
        return [row for row in there if now <= row["ts"] + 3]
    if window == "[Rows 5]":
        return there[-5:]
    return [row for k in (1, 2) for row in [r for r in there if r["k"] == k][-3:]]


def content_at(changes: list[tuple], now: int) -> list[tuple]:
    """What is left of the rows that came and went until an instant."""
    bag: Counter = Counter()
    for op, at, *row in changes:
        if at <= now:
            bag[tuple(row)] += -1 if op == "-" else 1
    assert all(times >= 0 for times in bag.values()), changes
    return list(bag.elements())


def check(seed: int, restart: bool | None = None) -> None:
    rng = Random(seed)
    slack, way = rng.choice((0, 0, 2, 5)), rng.choice(("s", "s", "s", "v", "t", "window", "c"))
    rows, query = shuffled(rng, cells_of(rng), slack), random_query(rng)
    settings = settings_of(rng) | {"search": rng.choice(("ops", "ops", "naive"))}
    settings |= {"native": rng.choice(("on", "on", "off"))}
    window = rng.choice(WINDOWS)
    modified = modifications_of(rng, rows) if way == "c" else []
    source = {"window": f"s {window}", "s": "s"}.get(way, f"{way} AS s")
    streamed = "STREAMED " if way in ("window", "c") else ""
    asked = f"SELECT {streamed}{written(query, source, () if way in ('s', 'v') else ('ts',))}"
    restarts = rng.random() < 0.2 if restart is None else restart
    with tempfile.TemporaryDirectory() as folder:
        write(rows, Path(folder))
        write_modifications(modified, Path(folder))
        script = SOURCES.format(slack=slack) + asked + ";\n"
        found = run_script(script, folder, settings, restarts).get("q1")
    mine, kept = [] if found is None else tuples(found), admitted(rows, slack)
    last = max((row["ts"] for row in kept), default=0)
    about = f"{seed}: {asked}\nslack {slack}, {settings}, restarts {restarts}\n{rows}"
    if way in ("s", "v", "t"):
        expected = {
            "s": lambda: of_stream(query, kept, last),
            "v": lambda: of_stream(query, on_view(kept), last),
            "t": lambda: relation_answer(query, rows, ("ts",)),
        }[way]()
        assert comparable(numbers(mine)) == comparable(numbers(expected)), about
        return
    if way == "c":
        about += f"\n{modified}"
        last = max((at for _, at, _ in modified), default=0)
    for now in range(last + 1):
        there = of_table(modified, now) if way == "c" else in_window(kept, window, now)
        expected = relation_answer(query, there, ("ts",))
        assert comparable(numbers(content_at(mine, now))) == comparable(numbers(expected)), (
            f"at {now}, {about}"
        )


X, Y, Z = Element("X"), Element("Y", True), Element("Z")
FALLS = Bin("<", Cell("Y", "x"), Cell("Y", "x", back=1))
PATTERNS = (
    Pattern((X, Y), (FALLS,)),
    Pattern((X, Y, Z), (FALLS, Bin(">", Cell("Z", "x"), Cell("Z", "x", back=1)))),
    Pattern((X, Z), (Bin(">", Cell("Z", "x"), Cell("X", "x", back=2)),)),
    Pattern((Y, Z), (FALLS, Bin(">=", Tally("count", "Y", final=True), Const(2)))),
    Pattern((X, Y), (FALLS,), within=2),
)
"""Patterns that match often."""


def check_long(seed: int) -> None:
    """A pattern over a table of many rows, most of whose matches a modification cannot affect."""
    rng = Random(seed)
    values = [rng.choice((0, 1, 2, 3, 4)) for _ in range(rng.choice((20, 40)))]
    rows = [{"ts": n, "k": n % 2, "x": x, "d": 0.5, "w": "a"} for n, x in enumerate(values)]
    pattern = rng.choice(PATTERNS)
    select = [Key("k"), Cell(pattern.elements[0].name, "ts", "FIRST")]
    if not pattern.elements[0].star:
        select = [Key("k"), Cell("X", "ts"), Cell("X", "x", back=1)]
    if Y in pattern.elements:
        select.append(Tally("sum", "Y", "x", True))
    query = Query(pattern, ("k",), tuple(select))
    modified = modifications_of(rng, rows)
    asked = f"SELECT STREAMED {written(query, 'c AS s', ('ts',))}"
    with tempfile.TemporaryDirectory() as folder:
        write([], Path(folder))
        write_modifications(modified, Path(folder))
        script = SOURCES.format(slack=0) + asked + ";\n"
        found = run_script(script, folder, settings_of(rng), rng.random() < 0.3).get("q1")
    mine = [] if found is None else tuples(found)
    for now in range(max(at for _, at, _ in modified) + 1):
        expected = relation_answer(query, of_table(modified, now), ("ts",))
        found_then = comparable(numbers(content_at(mine, now)))
        assert found_then == comparable(numbers(expected)), f"{seed} at {now}: {asked}\n{modified}"


def test_what_a_modification_cannot_affect_stays() -> None:
    for seed in range(30 * SCALE):
        check_long(seed)


def test_a_few_cases_quickly() -> None:
    for seed in range(90_000, 90_050):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, CASES, CHUNK))
def test_patterns_agree_with_their_definition(start: int) -> None:
    for seed in range(start, start + CHUNK):
        check(seed)


@pytest.mark.slow
def test_a_restart_after_every_batch_does_not_matter() -> None:
    for seed in range(95_000, 95_000 + 40 * SCALE):
        check(seed, restart=True)


@pytest.mark.slow
def test_steps_inside_a_batch_do_not_matter(monkeypatch) -> None:
    monkeypatch.setattr("millstream.engine.level.STEP_ROWS", 3)
    monkeypatch.setattr("millstream.engine.level.SEARCHING", 1)
    for seed in range(97_000, 97_000 + 60 * SCALE):
        check(seed)
