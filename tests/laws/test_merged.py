"""Set operations over streams: what the definition gives, in any cut; by time or by arrival."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from laws.test_filled import settings
from millstream.database import Database
from millstream.testing import run_script

TIMED = {
    "union_all": "SELECT t, k FROM a UNION ALL SELECT t, k FROM b",
    "unions": "SELECT t, k FROM a UNION SELECT t, k FROM b",
    "both": "SELECT k, t FROM a INTERSECT SELECT k, t FROM b",
    "all_both": "SELECT k, t FROM a INTERSECT ALL SELECT k, t FROM b",
    "once": "SELECT DISTINCT t, k FROM a WHERE k > 1",
    "explicit": "Istream(SELECT t, k FROM a UNION SELECT t, k FROM b)",
    "named": "SELECT k FROM derived",
}
BOUNDED = ("unions", "both", "all_both", "once", "explicit")
UNTIMED = {
    "union_all": "SELECT k FROM a UNION ALL SELECT k FROM b",
    "unions": "SELECT k FROM a UNION SELECT k FROM b",
    "both": "SELECT k FROM a INTERSECT SELECT k FROM b",
}


def rows_of(chance: random.Random) -> list[tuple[int, int]]:
    times = sorted(chance.randint(0, 9) for _ in range(chance.randint(0, 14)))
    return [(t, chance.randint(1, 3)) for t in times]


def run(folder: Path, sides: dict[str, list], order: str, queries: dict, given: dict) -> dict:
    script = []
    for name, rows in sides.items():
        lines = ["t,k", *(f"{t},{k}" for t, k in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        script.append(f"CREATE STREAM {name} (t int, k int){order} SOURCE '{name}.csv'")
    script.append("CREATE STREAM derived (at, k) AS SELECT t, k FROM a UNION SELECT t, k FROM b")
    script += [f"CREATE VIEW {name} AS {query}" for name, query in queries.items()]
    tables = run_script(";\n".join(script), str(folder), given)
    return {
        name: Counter(zip(*(c.to_pylist() for c in tables[name].columns)) if name in tables else ())
        for name in queries
    }


@pytest.mark.parametrize("seed", range(25))
def test_streams_with_a_time(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    a, b = rows_of(chance), rows_of(chance)
    every, meet = Counter(a + b), Counter(a) & Counter(b)
    wanted = {
        "union_all": Counter((t, t, k) for t, k in every.elements()),
        "unions": Counter((t, t, k) for t, k in every),
        "both": Counter((t, k, t) for t, k in meet),
        "all_both": Counter((t, k, t) for t, k in meet.elements()),
        "once": Counter((t, t, k) for t, k in set(a) if k > 1),
        "explicit": Counter((t, t, k) for t, k in every),
        "named": Counter((t, k) for t, k in every),
    }
    assert run(tmp_path, {"a": a, "b": b}, " ORDER BY t", TIMED, settings(chance)) == wanted


@pytest.mark.parametrize("seed", range(15))
def test_streams_by_arrival(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    sides = {"a": [k for _, k in rows_of(chance)], "b": [k for _, k in rows_of(chance)]}
    arrivals = [(n, k, name) for name, ks in sides.items() for n, k in enumerate(ks, 1)]
    first = {name: {} for name in (*sides, "any")}
    for n, k, name in sorted(arrivals):
        first[name].setdefault(k, n)
        first["any"].setdefault(k, n)
    wanted = {
        "union_all": Counter((n, k) for n, k, _ in arrivals),
        "unions": Counter((n, k) for k, n in first["any"].items()),
        "both": Counter(
            (max(first["a"][k], first["b"][k]), k) for k in first["a"].keys() & first["b"].keys()
        ),
    }
    given = {name: [(0, k) for k in ks] for name, ks in sides.items()}
    assert run(tmp_path, given, "", UNTIMED, settings(chance)) == wanted


@pytest.mark.parametrize("name", BOUNDED)
def test_where_the_time_is_selected_nothing_older_is_kept(name: str) -> None:
    database = Database(tell=lambda text: None)
    database.execute("CREATE STREAM a (t int, k int) ORDER BY t")
    database.execute("CREATE STREAM b (t int, k int) ORDER BY t")
    (query,) = database.execute(TIMED[name])
    assert "none: grows" not in database.explain(query, "state")
    assert not any("the state of" in notice.message for notice in query.notices)


def test_a_time_of_one_side_only_bounds_nothing() -> None:
    database = Database(tell=lambda text: None)
    database.execute("CREATE STREAM a (t int, k int) ORDER BY t")
    database.execute("CREATE STREAM b (t int, k int) ORDER BY t")
    (query,) = database.execute("SELECT t, k FROM a UNION SELECT k, t FROM b")
    assert "none: grows" in database.explain(query, "state")
