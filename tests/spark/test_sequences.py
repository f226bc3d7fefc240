"""Sequence patterns on Spark agree with their definition: many generated queries in one job."""

from pathlib import Path
from random import Random

import pytest

from laws.scale import SCALE
from laws.test_over import comparable, numbers, tuples
from laws.test_sequences import SOURCES, cells_of, of_stream, write, write_modifications
from oracle.generate_recognize import shuffled
from oracle.generate_sequences import random_query, written
from oracle.over import admitted
from oracle.sequences import relation_answer
from spark.running import run_on_spark

pytestmark = pytest.mark.spark
QUERIES = 20


@pytest.mark.parametrize("seed", range(2 * SCALE))
def test_generated_sequences_on_spark(spark, seed: int, tmp_path: Path) -> None:
    rng, slack = Random(800 + seed), (0, 2)[seed % 2]
    rows = shuffled(rng, cells_of(rng), slack)
    write(rows, tmp_path)
    write_modifications([], tmp_path)
    queries = [random_query(rng) for _ in range(QUERIES)]
    asked = [
        f"SELECT {written(query, 't AS s', ('ts',)) if at % 4 == 3 else written(query, 's')}"
        for at, query in enumerate(queries)
    ]
    script = SOURCES.format(slack=slack) + "".join(f"{text};\n" for text in asked)
    settings = {"batch_rows": ("7", "30")[seed % 2], "buckets": ("1", "3")[seed % 2]}
    found = run_on_spark(spark, script, tmp_path, settings)
    kept = admitted(rows, slack)
    last = max((row["ts"] for row in kept), default=0)
    for at, (query, text) in enumerate(zip(queries, asked)):
        given = found.get(f"q{at + 1}")
        mine = comparable(numbers([] if given is None else tuples(given)))
        if at % 4 == 3:
            expected = relation_answer(query, rows, ("ts",))
        else:
            expected = of_stream(query, kept, last)
        assert mine == comparable(numbers(expected)), text
