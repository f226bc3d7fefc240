"""Run a script on Spark in this process, with results in memory."""

from pathlib import Path

import pyarrow as pa

from millstream.database import Database
from millstream.database.contents import Contents
from millstream.spark.host import SparkHost
from millstream.testing.run import KeptResults


def run_on_spark(
    spark,
    script: str,
    base: str | Path,
    settings: dict[str, str] | None = None,
    checkpoint: str | None = None,
) -> dict[str, pa.Table]:
    """The results of a bounded script, as `millstream.testing.run_script` gives them."""
    database = Database(str(base), lambda text: None, contents=Contents(allows_python=True))
    for name, value in (settings or {}).items():
        database.pin(name, value)
    database.execute(script)
    kept = KeptResults()
    job = database.job(frozenset(database.queries))
    host = SparkHost(spark, job, lambda commit: [kept], checkpoint)
    try:
        host.run()
    finally:
        host.close()
    return kept.tables()
