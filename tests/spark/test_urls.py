"""Checkpoints by URL: one run goes on where another was, whatever door it takes to the files."""

from __future__ import annotations

from pathlib import Path

import pytest

import millstream
from millstream.errors import MillstreamError
from spark.command import files, write_bids
from spark.test_checkpoint import Run

pytestmark = pytest.mark.spark


def test_a_run_through_local_files_goes_on_through_arrow(spark, tmp_path: Path) -> None:
    """State, commits and job snapshots of the second run go through Arrow's file systems."""
    outs = []
    for name in ("once", "twice"):
        folder = tmp_path / name
        folder.mkdir()
        write_bids(folder, 300)
        run = Run(spark, folder)
        url = f"file://{folder}/checkpoint"
        if name == "twice":
            run.go(batches=1, checkpoint=url)
            url = f"arrow+{url}"
        run.go(checkpoint=url)
        assert run.notices == []
        outs.append(files(folder / "out"))
    assert outs[0] == outs[1]
    assert (tmp_path / "twice" / "checkpoint" / "spark" / "offsets").is_dir()
    assert not (tmp_path / "twice" / "checkpoint" / "scratch").exists()


def test_results_are_kept_by_url(spark, tmp_path: Path) -> None:
    write_bids(tmp_path, 50)
    url = f"arrow+file://{tmp_path}/check%20point"
    with millstream.connect(spark, checkpoint=url, base=str(tmp_path)) as db:
        db.execute(
            "CREATE STREAM bids (item bigint, price double, ts bigint) ORDER BY ts SLACK 3 "
            "SOURCE 'bids.csv';"
        )
        query = db.query("SELECT item, price FROM bids WHERE price > 5")
        db.run()
        assert 0 < query.table().num_rows < 50
    assert (tmp_path / "check point" / "results" / "last").exists()


def test_a_url_that_does_not_fit_is_told_before_anything_runs(spark) -> None:
    with pytest.raises(MillstreamError, match='there is no kind of folder "ftp:"'):
        millstream.connect(spark, checkpoint="ftp://host/x")
