"""What cells are read as, on Spark as on the local host: gzip, times, fields by path."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import millstream
from millstream.testing import run_script

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM s (at timestamp(3), "item.price" double, tags string) ORDER BY at SOURCE 'in'
  WITH (timestamp = 'epoch_ms');
CREATE VIEW local AS SELECT STREAMED hour(from_utc_timestamp(at, 'America/New_York')) AS h,
  count(*) AS n, sum("item.price") AS total, max(tags) AS tags FROM s GROUP BY
  hour(from_utc_timestamp(at, 'America/New_York'));
"""


def _write(folder: Path, name: str, first: int) -> None:
    """An hour of rows, a minute apart, from 2024-11-03 05:00Z on; the last one is bad."""
    folder.mkdir(exist_ok=True)
    lines = [
        f'{{"at": {1_730_610_000_000 + i * 60_000}, "item": {{"price": {i}.35}}, "tags": [{i}]}}\n'
        for i in range(first, first + 60)
    ]
    text = "".join(lines) + '{"at": 1730610000000000000, "tags": []}\n'
    (folder / name).write_bytes(gzip.compress(text.encode()))


def test_gzip_files_are_read_on_after_a_restart(spark, tmp_path: Path) -> None:
    folder, checkpoint = tmp_path / "in", str(tmp_path / "checkpoint")
    for names, first in ((["a.jsonl.gz"], 0), (["b.jsonl.gz", "c.jsonl.gz"], 60)):
        for i, name in enumerate(names):
            _write(folder, name, first + 60 * i)
        db = millstream.connect(
            spark=spark, base=str(tmp_path), checkpoint=checkpoint, settings={"batch_rows": 17}
        )
        db.execute(SCRIPT)
        query = db.query("SELECT * FROM local")
        db.run()
    expected = run_script(SCRIPT + "SELECT * FROM local;", tmp_path)["q1"]
    columns = ["h", "n", "total", "tags"]
    ours = query.table().select(columns).sort_by("h").to_pylist()
    assert ours == expected.select(columns).sort_by("h").to_pylist()
    # 05:00Z and 06:00Z are both one o'clock in New York: the clocks go back between them.
    assert [(row["h"], row["n"]) for row in ours] == [(1, 120), (2, 60)]
