"""MATCH_RECOGNIZE on Spark agrees with its definition: many generated queries in one job."""

from pathlib import Path
from random import Random

import pytest

from laws.test_over import comparable, numbers, tuples
from laws.test_recognize import SOURCES, answerable, expected_of, text, write
from oracle.generate_recognize import rows_of, shuffled
from spark.running import run_on_spark

pytestmark = pytest.mark.spark
QUERIES = 25


@pytest.mark.parametrize("seed", range(2))
def test_generated_patterns_on_spark(spark, seed: int, tmp_path: Path) -> None:
    rng, slack = Random(700 + seed), (0, 2)[seed]
    rows = shuffled(rng, rows_of(rng, 20), slack)
    for name in ("s.csv", "t.csv"):
        write(rows, tmp_path / name)
    cases = [answerable(rng, rows, slack, table=at % 3 == 2) for at in range(QUERIES)]
    script = SOURCES.format(slack=slack) + "".join(
        f"{text(query, 't' if table else 's')};\n" for query, table in cases
    )
    settings = {"batch_rows": ("7", "30")[seed], "buckets": ("1", "3")[seed]}
    found = run_on_spark(spark, script, tmp_path, settings)
    for at, (query, table) in enumerate(cases):
        rows_found = found.get(f"q{at + 1}")
        mine = comparable(numbers([] if rows_found is None else tuples(rows_found)))
        expected = expected_of(query, rows, slack, table)
        assert mine == comparable(numbers(expected)), text(query, "s")
