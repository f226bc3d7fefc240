"""Aggregates that are classes in Python on Spark: the class travels to the workers, and what an
instance keeps survives a kill."""

import random
from collections import Counter
from pathlib import Path

import pytest

import millstream
from laws.test_own_calls import STREAM, some_owns, some_tuples, some_window
from laws.test_python_calls import MODULE, PYTHON_OWNS
from oracle.own_calls import answers
from spark.command import files, run_here
from spark.running import run_on_spark
from spark.test_own_calls import BATCH, ROWS, run_through_kills, write_tuples

pytestmark = pytest.mark.spark
DEFINITIONS = "\n".join(own.text for own in PYTHON_OWNS)


@pytest.mark.parametrize("seed", range(2))
def test_calls_over_windows(spark, seed: int, tmp_path: Path) -> None:
    (tmp_path / MODULE.name).write_text(MODULE.read_text())
    rng = random.Random(seed + 700)
    tuples = some_tuples(rng) or [(1, "a", 1)]
    expected, views = {}, []
    for i in range(6):
        over = some_window(rng)
        owns = some_owns(rng, over, PYTHON_OWNS)
        calls = ", ".join(f"{own.name}(price) {over.text}" for own in owns)
        views.append(f"CREATE VIEW v{i} AS SELECT item, {calls} FROM bids;")
        expected[f"v{i}"] = answers(owns, over, tuples)
    write_tuples(tmp_path, tuples)
    settings = {"batch_rows": "7", "buckets": "2", "placement": ("executors", "driver")[seed]}
    found = run_on_spark(spark, "\n".join([STREAM, DEFINITIONS, *views]), tmp_path, settings)
    for name, rows in expected.items():
        columns = found[name].columns if name in found else []
        assert Counter(zip(*(c.to_pylist() for c in columns))) == Counter(rows), name


FACTOR = 3


def scaled(x: int) -> int:
    return FACTOR * x


def test_a_class_of_a_program_travels_with_what_it_names(spark, tmp_path: Path) -> None:
    write_tuples(tmp_path, [(1, "a", 1), (2, "b", 2), (3, "a", 5)])
    settings = {"placement": "executors", "buckets": 2}
    with millstream.connect(spark, base=str(tmp_path), settings=settings) as db:
        db.execute(STREAM)

        @db.aggregate
        class Scaled:
            seen: list[int]

            def iterate(self, x: int) -> int:
                self.seen.append(x)
                return scaled(sum(self.seen))

        query = db.query("SELECT item, scaled(price) AS s FROM bids GROUP BY item")
        db.run()
        found = [(row["item"], row["s"]) for row in query.table().to_pylist()]
    assert sorted(found) == [("a", 3), ("a", 18), ("b", 6)]


@pytest.mark.slow
def test_instances_survive_a_kill(spark, tmp_path: Path) -> None:
    rng = random.Random(4)
    tuples = [(i // 2, rng.choice("abcd"), rng.randrange(50)) for i in range(ROWS)]
    write_tuples(tmp_path, tuples)
    (tmp_path / MODULE.name).write_text(MODULE.read_text())
    script = tmp_path / "calls.sql"
    script.write_text(
        f"""{STREAM}
        {DEFINITIONS}
        CREATE VIEW seen AS SELECT item, kinds(price) AS n, spell(price) AS s
          FROM bids GROUP BY item;
        CREATE VIEW recent AS
          SELECT item, total(price) OVER (PARTITION BY item RANGE 20 PRECEDING) AS t,
                 highest(price) OVER (ROWS 30 PRECEDING) AS h,
                 largest(price) OVER (PARTITION BY item ROWS 9 PRECEDING) AS l FROM bids;
        """
    )
    run_here("run", script, "--out", tmp_path / "whole", "--host", "local")
    kept = "--checkpoint", tmp_path / "checkpoint", "--set", f"batch_rows={BATCH}"
    words = ("run", script, "--out", tmp_path / "out", *kept)
    run_through_kills(words, tmp_path / "checkpoint")
    assert files(tmp_path / "out") == files(tmp_path / "whole")
