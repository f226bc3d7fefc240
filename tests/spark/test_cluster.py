"""A real cluster: several executors in processes of their own give the same answers."""

import subprocess
import sys
from pathlib import Path

import pytest

from spark.command import files, run_here, write_bids
from spark.test_golden_on_spark import FILES

pytestmark = [pytest.mark.spark, pytest.mark.slow]
MASTER = "local-cluster[2,1,1024]"
MAIN = [
    p for p in FILES if p.stem in ("group_by", "rows", "range_slide", "tagged", "stored", "slack")
]


def test_two_executors_give_the_same_answers(tmp_path: Path) -> None:
    script = write_bids(tmp_path, 400)
    run_here("run", script, "--out", tmp_path / "alone", "--changes", "--host", "local")
    done = subprocess.run(
        [
            sys.executable,
            Path(__file__).with_name("golden_on.py"),
            MASTER,
            script,
            tmp_path / "cluster",
            *MAIN,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip().endswith(f"{len(MAIN)} files run on {MASTER}"), done.stderr
    assert not any(str(p) in done.stdout for p in MAIN), done.stdout
    assert files(tmp_path / "cluster") == files(tmp_path / "alone")
