"""Generated scripts on Spark agree with the oracle: many in one job, as users' queries are."""

import tempfile
from pathlib import Path

import pytest

from laws.engine import compare
from laws.scale import SCALE
from oracle.combine import combine
from oracle.evaluate import evaluate
from oracle.generate import random_case, write
from spark.running import run_on_spark

pytestmark = pytest.mark.spark
CASES, TOGETHER = min(80, 40 * SCALE), 20


def _cases(count: int) -> list:
    """Scripts that can stand side by side: a latent stream's clock is its own."""
    found, seed = [], 50_000
    while len(found) < count:
        case = random_case(seed)
        seed += 1
        if all(stream.order_by is not None for stream in case.streams):
            found.append(case)
    return found


@pytest.mark.parametrize("part", range(CASES // TOGETHER))
def test_generated_scripts_on_spark(spark, part: int) -> None:
    both = combine(_cases(CASES)[part * TOGETHER : (part + 1) * TOGETHER])
    settings = {"batch_rows": "12", "buckets": str(1 + part % 3)}
    with tempfile.TemporaryDirectory() as folder:
        script = write(both, Path(folder))
        actual = run_on_spark(spark, script.read_text(), folder, settings)
    assert compare(evaluate(both), actual) is None
