"""Calls of aggregates of one's own on Spark: what their definitions say, also after a kill."""

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from laws.scale import SCALE
from laws.test_own_calls import STREAM, some_owns, some_tuples, some_window
from oracle.own_calls import OWNS, answers
from spark.command import files, kill, run_here, start
from spark.running import run_on_spark
from spark.test_exactly_once import batches_done

pytestmark = pytest.mark.spark
ROWS, BATCH = 600, 40
JOBS, TOGETHER = (3 if SCALE == 1 else 13), 8
"""How many jobs, each with so many generated queries: more than 100 with `make laws`."""

DEFINITIONS = "\n".join(own.text for own in OWNS)


def write_tuples(folder: Path, tuples: list[tuple[int, str, int]]) -> None:
    lines = ["ts,item,price", *(f"{t},{item},{price}" for t, item, price in tuples)]
    (folder / "bids.csv").write_text("\n".join(lines) + "\n")


def run_through_kills(words: tuple, checkpoint: Path) -> None:
    """A run that is killed twice on its way, and then ends."""
    for wanted in (2, 6):
        process = start(*words)
        until = time.monotonic() + 120
        while batches_done(checkpoint) < wanted and time.monotonic() < until:
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.02)
        kill(process)
    run_here(*words)


@pytest.mark.parametrize("seed", range(JOBS))
def test_calls_over_windows(spark, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed + 500)
    tuples = [t for t in some_tuples(rng) if t] or [(1, "a", 1)]
    expected, views = {}, []
    for i in range(TOGETHER):
        over = some_window(rng)
        owns = some_owns(rng, over)
        calls = ", ".join(f"{own.name}(price) {over.text}" for own in owns)
        views.append(f"CREATE VIEW v{i} AS SELECT item, {calls} FROM bids;")
        expected[f"v{i}"] = answers(owns, over, tuples)
    write_tuples(tmp_path, tuples)
    placement = ("driver", "executors")[seed % 2]
    settings = {"batch_rows": "7", "buckets": str(1 + seed % 3), "placement": placement}
    found = run_on_spark(spark, "\n".join([STREAM, DEFINITIONS, *views]), tmp_path, settings)
    for name, rows in expected.items():
        columns = found[name].columns if name in found else []
        assert Counter(zip(*(c.to_pylist() for c in columns))) == Counter(rows), name


@pytest.mark.slow
def test_instances_survive_a_kill(spark, tmp_path: Path) -> None:
    rng = random.Random(3)
    tuples = [(i // 2, rng.choice("abcd"), rng.randrange(50)) for i in range(ROWS)]
    write_tuples(tmp_path, tuples)
    script = tmp_path / "calls.sql"
    script.write_text(
        f"""{STREAM}
        {DEFINITIONS}
        CREATE VIEW seen AS SELECT item, kinds(price) AS n FROM bids GROUP BY item;
        CREATE VIEW recent AS
          SELECT item, total(price) OVER (PARTITION BY item RANGE 20 PRECEDING) AS t,
                 highest(price) OVER (ROWS 30 PRECEDING) AS h FROM bids;
        CREATE VIEW slots AS
          SELECT item, ends(price) OVER (PARTITION BY item ROWS 4 PRECEDING SLIDE 7) FROM bids;
        CREATE VIEW groups AS
          SELECT STREAMED item, ends(price) FROM bids [Range 9] GROUP BY item;
        """
    )
    run_here("run", script, "--out", tmp_path / "whole", "--changes", "--host", "local")
    kept = "--checkpoint", tmp_path / "checkpoint", "--set", f"batch_rows={BATCH}"
    words = ("run", script, "--out", tmp_path / "out", "--changes", *kept)
    run_through_kills(words, tmp_path / "checkpoint")
    assert files(tmp_path / "out") == files(tmp_path / "whole")
