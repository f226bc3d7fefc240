"""Results leave in the same order, byte for byte, whatever the cut into batches and buckets."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from laws.scale import SCALE
from millstream.connect.text_sink import encode
from millstream.testing import run_script
from oracle.generate import random_case, write

CUTS = ({"batch_rows": "1", "buckets": "3"}, {"batch_rows": "4", "rules": "off"})


def spelled(tables: dict[str, pa.Table]) -> dict[str, bytes]:
    """The results as the bytes of their files."""
    return {
        name: b"".join(encode(batch, "csv") for batch in table.to_batches())
        for name, table in tables.items()
        if table.num_columns
    }


def check(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        script = write(random_case(seed), Path(folder)).read_text()
        whole = spelled(run_script(script, folder))
        for settings in CUTS:
            cut = spelled(run_script(script, folder, settings))
            assert cut == whole, f"seed {seed}: {settings}"


def test_a_few_files_are_the_same_bytes() -> None:
    for seed in range(70_000, 70_010):
        check(seed)


@pytest.mark.slow
def test_files_are_the_same_bytes() -> None:
    for seed in range(70_010, 70_010 + 15 * SCALE):
        check(seed)


def test_a_heartbeat_of_the_source_does_not_depend_on_the_cut(tmp_path: Path) -> None:
    lines = ['{"at":1,"r":"a"}', '{"$heartbeat":30}', '{"at":2,"r":"b"}']
    (tmp_path / "b.jsonl").write_text("\n".join(lines) + "\n")
    script = (
        "CREATE STREAM s (at int, r string) ORDER BY at SOURCE 'b.jsonl';"
        "SELECT STREAMED r FROM s [Range 5];"
    )
    for settings in ({}, {"batch_rows": "1"}):
        results = run_script(script, tmp_path, settings)
        assert results["q1"].to_pylist() == [
            {"op": "+", "ts": 1, "r": "a"},
            {"op": "-", "ts": 7, "r": "a"},
        ]
        assert results["s.late"].column("r").to_pylist() == ["b"]


def test_decimals_are_compared_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("t,p\n1,2.30\n2,1.15\n3,99999999.99\n")
    script = (
        "CREATE STREAM s (t int, p decimal(10,2)) ORDER BY t SOURCE 's.csv';"
        "SELECT p = 2.30 AS same, p IN (1.15, 7) AS listed, ceil(p) AS up, p / 2 AS half FROM s;"
    )
    rows = run_script(script, tmp_path)["q1"].to_pylist()
    assert [row["same"] for row in rows] == [True, False, False]
    assert [row["listed"] for row in rows] == [False, True, False]
    assert [row["up"] for row in rows] == [3, 2, 100_000_000]
    assert [row["half"] for row in rows] == [1.15, 0.575, 49999999.995]
