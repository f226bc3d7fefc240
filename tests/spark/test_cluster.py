"""A real cluster: several executors in processes of their own give the same answers."""

from pathlib import Path

import pytest

from spark.command import files, run, write_bids

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_two_executors_give_the_same_files(tmp_path: Path) -> None:
    script = write_bids(tmp_path, 400)
    run("run", script, "--out", tmp_path / "alone", "--changes", "--host", "local")
    run(
        "run",
        script,
        "--out",
        tmp_path / "cluster",
        "--changes",
        "--master",
        "local-cluster[2,1,1024]",
        "--set",
        "batch_rows=150",
        "--set",
        "buckets=4",
    )
    assert files(tmp_path / "cluster") == files(tmp_path / "alone")
