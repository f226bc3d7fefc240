"""Plans that were chosen by cost, on a checkpoint: measured, recorded, and taken up again."""

from pathlib import Path

import pytest

import millstream
from millstream.algebra.node import Node, walk
from millstream.cli.explaining import explain_script
from millstream.database import Database
from millstream.plan.alternatives import Chooser
from millstream.plan.kept import logical
from millstream.spark.host import SparkHost
from millstream.testing.run import KeptResults
from spark.running import run_on_spark

pytestmark = pytest.mark.spark

STREAMS = "".join(
    f"CREATE STREAM {name} (ts int, k int, v int) ORDER BY ts SOURCE '{name}.csv';\n"
    for name in "abc"
)
PAIRS = (
    "SELECT STREAMED a.k, c.v FROM a [Range {window}] a, c [Range {window}] c WHERE a.k = c.k "
    "AND NOT EXISTS (SELECT 1 FROM b [Range {window}] b WHERE b.k = a.k)"
)
SCRIPT = f"{STREAMS}CREATE VIEW pairs AS {PAIRS.format(window=50)};\n"
MORE = f"{SCRIPT}CREATE VIEW later AS {PAIRS.format(window=60)};\n"


KEYS = {
    "a": lambda t, i: (7 * t + i) % 100,
    "b": lambda t, i: (3 * t + i) % 300,
    "c": lambda t, i: (t + i) % 100 if t % 25 == 0 else 1000 + i * t,
}
"""Rows of `a` and `c` hardly ever meet, which nobody knows in the beginning."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, key in KEYS.items():
        rows = [f"{t},{key(t, i)},{t}" for t in range(1, 201) for i in range(10)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["ts,k,v", *rows]) + "\n")
    return tmp_path


def shape(plan: Node) -> list[str]:
    return [type(node).__name__ for node in walk(plan)]


def start(
    spark, folder: Path, script: str, batches: int | None = None
) -> tuple[SparkHost, KeptResults]:
    """A run on the checkpoint of the folder, which may stop after some batches."""
    database = Database(base=str(folder), tell=lambda text: None)
    database.pin("batch_rows", "250")
    database.execute(script)
    kept = KeptResults()
    host = SparkHost(spark, database.job(), lambda commit: [kept], str(folder / "checkpoint"))
    first = host.commit.batch if host.commit else -1
    host.run(
        lambda: batches is not None and bool(host.commit) and host.commit.batch - first >= batches
    )
    return host, kept


def test_a_plan_stays_on_its_checkpoint_and_a_new_one_goes_by_what_was_measured(spark, folder):
    whole = run_on_spark(spark, SCRIPT, folder, {"batch_rows": "250"})["pairs"].to_pylist()
    before, kept = start(spark, folder, SCRIPT, batches=3)
    told = kept.tables()["pairs"].to_pylist()
    query = before.job.query("pairs")
    statistics = before.measures.statistics(before.job.graph)
    knowing = Chooser(statistics=statistics).optimized(query.changes_root)
    kept = before.job.settled_plans["pairs"][query.changes_root]
    assert logical(kept) != knowing, "by what was measured, another plan is better by now"
    assert before.commit.plans == before.job.plan_texts

    after, kept_results = start(spark, folder, MORE)
    assert after.job.plan_texts["pairs"] == before.job.plan_texts["pairs"]
    later = after.job.query("later")
    (plan,) = after.job.settled_plans["later"].values()
    assert shape(logical(plan)) == shape(knowing) != shape(logical(kept)), later.text
    assert set(before.job.graph.nodes) <= set(after.job.graph.nodes)
    told += kept_results.tables()["pairs"].to_pylist()
    assert told == whole and len(whole) > 10


def test_costs_are_told_with_what_a_job_has_measured(spark, folder):
    checkpoint = str(folder / "checkpoint")
    db = millstream.connect(spark=spark, base=str(folder), checkpoint=checkpoint)
    (query,) = db.execute(SCRIPT)
    assert "guessed" in query.explain("cost") and "measured" not in query.explain("cost")
    db.run()
    text = query.explain("cost")
    assert "guessed" not in text.replace("Tagged", "") and "measured" in text
    assert "<- chosen" in text and "<- set" in text
    script = folder / "script.sql"
    script.write_text(SCRIPT)
    told = explain_script(script, "cost", None, None, folder / "checkpoint", ())
    assert told.startswith(text)
