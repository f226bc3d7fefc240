"""OVER on Spark agrees with its definition: several generated queries in one job."""

import tempfile
from pathlib import Path
from random import Random

import pytest

from laws.test_over import STREAM, aggregates, comparable, numbers, tuples, write
from oracle.over import admitted, random_rows
from spark.running import run_on_spark

pytestmark = pytest.mark.spark
CASES = 10


def test_generated_windows_on_spark(spark) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rng = Random(77)
        rows = [*random_rows(rng, 2), *({"ts": 400, "k": 1, "w": "a", "x": 2, "d": 0.5},)]
        write(rows, Path(folder) / "s.csv")
        cases = [aggregates(rng, admitted(rows, 2)) for _ in range(CASES)]
        script = STREAM.format(name="s", slack=2) + "".join(f"{query};\n" for query, _ in cases)
        found = run_on_spark(spark, script, folder, {"batch_rows": "9", "buckets": "3"})
    for at, (query, expected) in enumerate(cases):
        mine = comparable(numbers(tuples(found[f"q{at + 1}"])))
        assert mine == comparable(numbers(expected)), query
