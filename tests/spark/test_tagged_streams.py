"""Generated tagged streams on Spark: several cases in one job agree with their definition."""

from pathlib import Path

import pytest

from laws.scale import SCALE
from laws.tagged import QUERIES, check_results, random_case
from millstream.database import Database
from spark.running import run_on_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]
TOGETHER = 5


@pytest.mark.parametrize("part", range(min(20, SCALE)))
def test_generated_tagged_streams_on_spark(spark, part: int, tmp_path: Path) -> None:
    cases = [random_case(9_000 + part * TOGETHER + i) for i in range(TOGETHER)]
    script = "\n".join(case.script(tmp_path, f"_{i}") for i, case in enumerate(cases))
    settings = {"batch_rows": "4", "buckets": str(1 + part % 3)}
    tables = run_on_spark(spark, script, tmp_path, settings)
    known = Database(base=str(tmp_path), tell=lambda text: None)
    known.execute(script)
    for i, case in enumerate(cases):
        names = [f"{name}_{i}" for name in QUERIES]
        keys = {name: known.queries[name].plan.key for name in names}
        check_results(case, tables, keys, f"_{i}")
