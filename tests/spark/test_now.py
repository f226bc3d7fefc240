"""Conditions on Now on Spark agree with their meaning: many scripts in one job."""

import tempfile
from pathlib import Path

import pytest

from laws.engine import compare
from laws.scale import SCALE
from oracle.combine import combine
from oracle.evaluate import evaluate
from oracle.files import write
from oracle.generate_now import now_case
from spark.running import run_on_spark

pytestmark = pytest.mark.spark
PARTS, TOGETHER = 10 if SCALE > 1 else 2, 10


@pytest.mark.parametrize("part", range(PARTS))
def test_conditions_on_now_on_spark(spark, part: int) -> None:
    """All scripts of a job count time in one way."""
    domain = "timestamp" if part % 5 == 1 else "integer"
    seeds = range(80_000 + part * 1_000, 81_000 + part * 1_000)
    cases = (case for case in map(now_case, seeds) if case.streams[0].domain == domain)
    both = combine([next(cases) for _ in range(TOGETHER)])
    settings = {"batch_rows": "12", "buckets": str(1 + part % 3)}
    with tempfile.TemporaryDirectory() as folder:
        script = write(both, Path(folder))
        actual = run_on_spark(spark, script.read_text(), folder, settings)
    assert compare(evaluate(both), actual) is None
