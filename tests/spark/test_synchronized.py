"""Synchronized relations on Spark agree with their definition: many scripts in one job."""

import tempfile
from pathlib import Path

import pytest

from laws.engine import compare
from laws.scale import SCALE
from oracle.combine import combine
from oracle.evaluate import evaluate
from oracle.files import write
from oracle.generate_syncs import synchronized_case
from spark.running import run_on_spark

pytestmark = pytest.mark.spark
CASES, TOGETHER = 100 if SCALE > 1 else 10, 10


@pytest.mark.parametrize("part", range(CASES // TOGETHER))
def test_synchronized_relations_on_spark(spark, part: int) -> None:
    """Each clock is named by its stream, since integers and timestamps stand side by side."""
    seeds = range(70_000 + part * TOGETHER, 70_000 + (part + 1) * TOGETHER)
    both = combine([synchronized_case(seed, own_clocks=True) for seed in seeds])
    settings = {"batch_rows": "12", "buckets": str(1 + part % 3)}
    with tempfile.TemporaryDirectory() as folder:
        script = write(both, Path(folder))
        actual = run_on_spark(spark, script.read_text(), folder, settings)
    assert compare(evaluate(both), actual) is None
