"""A run killed in the middle of a batch and started again, also with another strategy, leaves the
files of one that was not."""

import random
import time
from pathlib import Path

import pytest

from spark.command import files, kill, run_here, start, write_bids

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROWS, BATCH = 900, 60


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    """The files of a run that nobody disturbs, with another cut into batches."""
    folder = tmp_path_factory.mktemp("whole")
    script = write_bids(folder, ROWS)
    run_here("run", script, "--out", folder / "out", "--changes", "--host", "local")
    return files(folder / "out")


def batches_done(checkpoint: Path) -> int:
    return max((int(p.stem) for p in checkpoint.glob("commits/*.json")), default=-1)


def test_killed_runs_leave_the_same_files(spark, tmp_path: Path, whole: dict[str, bytes]) -> None:
    script = write_bids(tmp_path, ROWS)
    words = (
        "run",
        script,
        "--out",
        tmp_path / "out",
        "--changes",
        "--checkpoint",
        tmp_path / "checkpoint",
        "--set",
        f"batch_rows={BATCH}",
    )
    chance = random.Random(11)
    turns = (
        (1, "update_pattern", "executors"),
        (5, "negative", "driver"),
        (9, "direct", "executors"),
    )
    for wanted, strategy, placement in turns:
        settings = f"strategy={strategy}", f"placement={placement}"
        process = start(*words, *(word for one in settings for word in ("--set", one)))
        until = time.monotonic() + 120
        while batches_done(tmp_path / "checkpoint") < wanted and time.monotonic() < until:
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.02)
        time.sleep(chance.random() * 0.5)
        kill(process)
        assert batches_done(tmp_path / "checkpoint") < ROWS // BATCH, "the run was over too soon"
    run_here(*words)
    assert files(tmp_path / "out") == whole
