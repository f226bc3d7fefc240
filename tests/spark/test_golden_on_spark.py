"""The golden files on Spark: on two threads, and the main ones on a cluster of two executors."""

import subprocess
import sys
from pathlib import Path

import pytest

from millstream.testing.bounded import is_bounded
from millstream.testing.golden_file import read_golden
from spark.golden_on import faults

pytestmark = [pytest.mark.spark, pytest.mark.slow]
GOLDEN = Path(__file__).parents[2] / "golden"
OFTEN_ENOUGH = (
    "now",
    "range",
    "filter",
    "project",
    "scan",
    "stamp",
    "unbounded",
    "elements",
    "intersect",
)
"""Operators that stand in the other files as well."""

FILES = [
    path
    for folder in ("operators", "time")
    for path in sorted((GOLDEN / folder).glob("*.test"))
    if is_bounded(read_golden(path)) and path.stem not in OFTEN_ENOUGH
]
MAIN = [
    p for p in FILES if p.stem in ("group_by", "rows", "range_slide", "tagged", "stored", "slack")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_golden_file_on_spark(spark, path: Path) -> None:
    assert faults(spark, path) == []


def test_the_main_golden_files_on_a_cluster() -> None:
    script = Path(__file__).with_name("golden_on.py")
    done = subprocess.run(
        [sys.executable, str(script), "local-cluster[2,1,1024]", *map(str, MAIN)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == f"{len(MAIN)} files run on local-cluster[2,1,1024]", done.stderr
