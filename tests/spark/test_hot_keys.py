"""Keys that are found to be hot on Spark: the same answers, also after a run was killed."""

import json
import tempfile
import time
from pathlib import Path

import pytest

from laws.engine import compare
from laws.hot import write_hot
from millstream.engine import hot_keys
from oracle.combine import combine
from oracle.evaluate import evaluate
from oracle.generate import random_case, write
from spark.command import files, kill, run_here, start
from spark.running import run_on_spark

pytestmark = pytest.mark.spark


def test_generated_joins_with_hot_keys(spark, monkeypatch) -> None:
    monkeypatch.setattr(hot_keys, "FEWEST", 1)
    cases = [random_case(seed, "join") for seed in range(60_000, 60_030)]
    ordered = [c for c in cases if all(s.order_by is not None for s in c.streams)][:15]
    both = combine(ordered)
    with tempfile.TemporaryDirectory() as folder:
        script = write(both, Path(folder))
        settings = {"batch_rows": "6", "buckets": "3"}
        actual = run_on_spark(spark, script.read_text(), folder, settings)
    assert compare(evaluate(both), actual) is None


def hot_in(checkpoint: Path) -> dict:
    """The hot keys of the last commit."""
    commits = sorted(checkpoint.glob("commits/*.json"))
    return (
        json.loads(commits[-1].read_bytes().partition(b"\n")[2])["hot"]["keys"] if commits else {}
    )


@pytest.mark.slow
def test_a_killed_run_goes_on_with_its_hot_keys(spark, tmp_path: Path) -> None:
    script = write_hot(tmp_path, 14_000)
    run_here("run", script, "--out", tmp_path / "whole", "--host", "local", "--set", "buckets=1")
    words = ("run", script, "--out", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint")
    settings = "batch_rows=2000", "buckets=3", "placement=executors"
    words = (*words, *(word for one in settings for word in ("--set", one)))
    process = start(*words)
    until = time.monotonic() + 120
    while not hot_in(tmp_path / "checkpoint") and time.monotonic() < until:
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.02)
    time.sleep(0.7)
    kill(process)
    before = hot_in(tmp_path / "checkpoint")
    assert before, "no key was found to be hot"
    run_here(*words)
    after = hot_in(tmp_path / "checkpoint")
    assert all(after[m][: len(keys)] == keys for m, keys in before.items())
    assert files(tmp_path / "out") == files(tmp_path / "whole")
