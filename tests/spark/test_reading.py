"""Results are read from Spark's driver while executors carry batches, as they are and were."""

from pathlib import Path

import pytest

import millstream

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM s (t int, k int, x double) ORDER BY t SOURCE 's.csv';
CREATE VIEW sums AS SELECT k, sum(x) AS total, count(*) AS n FROM s GROUP BY k;
CREATE VIEW best AS SELECT COMPLETE k, n FROM sums ORDER BY n DESC, k LIMIT 2;
"""
ROWS = [(t, t % 3, t / 4) for t in range(1, 61)]


def expected(until: int) -> list[tuple]:
    found = {}
    for t, k, x in ROWS:
        if t <= until:
            total, n = found.get(k, (0.0, 0))
            found[k] = total + x, n + 1
    return [(k, *found[k]) for k in sorted(found)]


def rows(db: millstream.Connection, text: str, **options) -> list[tuple]:
    return list(zip(*(column.to_pylist() for column in db.read(text, **options).columns)))


@pytest.mark.parametrize("history", ["off", "1000"])
def test_while_it_runs_and_after(spark, tmp_path: Path, history: str) -> None:
    (tmp_path / "s.csv").write_text("t,k,x\n" + "".join(f"{t},{k},{x}\n" for t, k, x in ROWS))
    settings = {"batch_rows": 20, "history": history}
    seen = []
    with millstream.connect(
        spark, checkpoint=str(tmp_path / "kept"), settings=settings, base=str(tmp_path)
    ) as db:
        db.execute(SCRIPT)
        from millstream.database.events import BatchFinished

        db.database.events.subscribe(
            lambda event: seen.append(rows(db, "SELECT * FROM sums")), BatchFinished
        )
        db.run()
        assert len(seen) >= 3
        assert seen[-1] == expected(60)
        known = [expected(until) for until in range(61)]
        assert all(found in known for found in seen)
        assert rows(db, "SELECT total FROM sums WHERE k = 1") == [(expected(60)[1][1],)]
        assert rows(db, "SELECT a.k FROM sums a JOIN best b USING (k)") == [(0,), (1,)]
        if history != "off":
            for instant in (1, 20, 33, 59):
                assert rows(db, "SELECT * FROM sums", as_of=instant) == expected(instant)
