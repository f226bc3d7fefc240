"""A stored result can be read after every batch, also when the strategy was changed before it."""

import random
from itertools import cycle
from pathlib import Path

import pytest

from millstream.database import Database
from millstream.local.host import LocalHost

QUERIES = {
    "distinct": "SELECT DISTINCT k FROM s [Range 6]",
    "distinct above 2": "SELECT k + 1 AS k FROM (SELECT DISTINCT k FROM s [Range 6]) d WHERE k > 2",
    "distinct pairs": "SELECT DISTINCT a.k FROM s [Range 6] a, s [Range 6] b WHERE a.k = b.k",
    "distinct three times": "SELECT DISTINCT h FROM (SELECT DISTINCT k, k div 2 AS h FROM "
    "(SELECT DISTINCT k, k % 3 AS r FROM s [Range 6]) x) y",
    "groups": "SELECT k, count(*) AS n FROM s [Range 6] GROUP BY k HAVING count(*) > 1",
    "a global count": "SELECT count(*) AS n FROM s [Range 6]",
    "rows": "SELECT k FROM s [Range 6]",
}
TURNS = {
    "from direct": ("direct", "direct", *["update_pattern"] * 6),
    "from negative": ("negative", "negative", *["update_pattern"] * 12),
    "stays": ("update_pattern",),
    "and back": ("update_pattern", "direct"),
    "all": ("update_pattern", "negative", "direct", *["update_pattern"] * 9),
}


def present(rows: list[tuple[int, int]], now: int, name: str) -> list[tuple[int, ...]]:
    """What the query says at an instant, by its meaning."""
    there = [k for t, k in rows if t <= now <= t + 6]
    match name:
        case "distinct" | "distinct pairs":
            return sorted((k,) for k in set(there))
        case "distinct three times":
            return sorted((h,) for h in {k // 2 for k in there})
        case "distinct above 2":
            return sorted((k + 1,) for k in set(there) if k > 2)
        case "groups":
            return sorted((k, there.count(k)) for k in set(there) if there.count(k) > 1)
        case "a global count":
            return [(len(there),)]
    return sorted((k,) for k in there)


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize(
    ("many", "rows_each"), [(2, 4), pytest.param(32_768, 1, marks=pytest.mark.slow)]
)
def test_content_after_every_batch(
    tmp_path: Path, monkeypatch, name, turns, many, rows_each
) -> None:
    monkeypatch.setattr("millstream.state.emitted_values.MANY", many)
    chance = random.Random(f"{name} {turns}")
    times = sorted(chance.randrange(60) for _ in range(90))
    rows = [(t, chance.randrange(7)) for t in times]
    (tmp_path / "s.csv").write_text("t,k\n" + "".join(f"{t},{k}\n" for t, k in rows))
    database = Database(base=str(tmp_path), tell=lambda text: None)
    database.execute(f"SET batch_rows = {rows_each}; SET buckets = 2;")
    database.execute("CREATE STREAM s (t int, k int) ORDER BY t SOURCE 's.csv';")
    query = database.query(QUERIES[name])
    host = LocalHost(database.job(), database.sources(follow=False), [])
    looked, content = 0, host.content(query.name)
    for strategy in cycle(TURNS[turns]):
        if host.is_done:
            break
        host = host.restarted(tmp_path / "state", strategy)
        assert host.content(query.name).equals(content), "a restart has changed the content"
        host.batch()
        content = host.content(query.name)
        now = host.clock.beats["s"]
        if now >= rows[0][0]:
            assert sorted(zip(*content.to_pydict().values())) == present(rows, now, name)
            looked += 1
    assert looked > 10
