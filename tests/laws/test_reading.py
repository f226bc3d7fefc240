"""A query that is read once over views gives what it holds as a view of its own, at any instant."""

import random
from pathlib import Path

import pytest

from laws.scale import SCALE
from millstream.database import Database
from millstream.database.reading import read
from millstream.local.host import LocalHost

VIEWS = {
    "sums": "SELECT k, sum(x) AS total, count(*) AS n FROM s GROUP BY k",
    "recent": "SELECT COMPLETE k, x FROM s [Range 6]",
    "latest": "SELECT COMPLETE k, x, y FROM s [Partition By k Rows 1]",
}
QUERIES = (
    "SELECT k, n FROM sums WHERE n > 1",
    "SELECT total FROM sums WHERE k = 3",
    "SELECT k, x FROM recent WHERE x = 2 AND k < 4",
    "SELECT count(*) AS n, avg(x) AS mean, min(y) AS y FROM latest",
    "SELECT n, count(*) AS m FROM sums GROUP BY n HAVING count(*) > 1",
    "SELECT s.k, r.x, s.total FROM sums s JOIN recent r ON s.k = r.k",
    "SELECT s.k, r.x FROM sums s LEFT JOIN recent r ON s.k = r.k AND r.x > 1",
    "SELECT DISTINCT x FROM recent",
    "SELECT k FROM sums WHERE k NOT IN (SELECT k FROM recent)",
    "SELECT k, n FROM sums o WHERE EXISTS (SELECT 1 FROM recent r WHERE r.k = o.k AND r.x = 0)",
    "SELECT k FROM sums WHERE total > (SELECT avg(total) FROM sums)",
    "SELECT k FROM sums UNION ALL SELECT x FROM recent",
    "SELECT k FROM sums EXCEPT SELECT k FROM recent",
    "SELECT k, total FROM sums ORDER BY total DESC, k LIMIT 2",
    "SELECT m FROM (SELECT max(x) AS m, k FROM recent GROUP BY k) d WHERE m > 1",
    "WITH few AS (SELECT k FROM sums WHERE n < 3) SELECT f.k, y FROM few f JOIN latest USING (k)",
)


def cells(table) -> list[str]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns))))


@pytest.mark.parametrize("seed", range(2 * SCALE))
def test_reading_is_registering(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    times = sorted(rng.randrange(40) for _ in range(60))
    lines = [f"{t},{rng.randrange(6)},{rng.randrange(4)},{rng.choice(('', 1, 2))}\n" for t in times]
    (tmp_path / "s.csv").write_text("t,k,x,y\n" + "".join(lines))
    database = Database(base=str(tmp_path), tell=lambda text: None)
    database.execute(f"SET batch_rows = {rng.choice((2, 7, 20))}; SET buckets = 2;")
    database.execute(f"SET history = {rng.choice(('off', '8', '100'))};")
    database.execute("CREATE STREAM s (t int, k int, x int, y int) ORDER BY t SOURCE 's.csv';")
    for name, text in VIEWS.items():
        database.query(text, name)
    database.execute("".join(f'CREATE VIEW "r{i}" AS {q};' for i, q in enumerate(QUERIES)))
    host = LocalHost(database.job(), database.sources(follow=False), [])
    while not host.is_done:
        host.batch()
        snapshot = host.driver.snapshot
        beat = snapshot.instant("sums")
        begins = max(snapshot.kept_since("sums"), times[0])
        for number, text in enumerate(QUERIES):
            for instant in {beat, rng.randint(min(begins, beat), beat)} if beat >= 0 else ():
                found = read(text, database.contents, lambda: host.driver.snapshot, instant)
                held = snapshot.content(f"r{number}", instant=instant)
                assert cells(found) == cells(held), f"{text} at {instant} of {beat}"
