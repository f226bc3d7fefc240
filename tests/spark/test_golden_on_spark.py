"""The golden files on Spark."""

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
    for folder in ("operators", "queries", "time")
    for path in sorted((GOLDEN / folder).glob("*.test"))
    if is_bounded(read_golden(path)) and path.stem not in OFTEN_ENOUGH
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_golden_file_on_spark(spark, path: Path) -> None:
    assert faults(spark, path) == []
