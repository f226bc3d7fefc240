"""Views on views on Spark are what they mean: many chains in one job."""

from pathlib import Path

import pytest

from laws.scale import SCALE
from laws.test_chains import check_tables
from oracle.chains import random_chain
from spark.running import run_on_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]
CASES, TOGETHER = 100 if SCALE > 1 else 10, 10


@pytest.mark.parametrize("part", range(CASES // TOGETHER))
def test_views_on_views_on_spark(spark, part: int, tmp_path: Path) -> None:
    chains = [
        random_chain(80_000 + part * TOGETHER + i, f"c{i}_", range(30)) for i in range(TOGETHER)
    ]
    settings = {"batch_rows": "12", "buckets": str(1 + part % 3)}
    script = "\n".join(chain.write(tmp_path) for chain in chains)
    tables = run_on_spark(spark, script, tmp_path, settings)
    for chain in chains:
        check_tables(chain, tables, tmp_path, script)
