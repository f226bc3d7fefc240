"""CSV and JSON lines in gzip files are read as the files that were packed would be."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from drain import drain

from millstream.connect import open_source
from millstream.errors import MillstreamError
from millstream.testing import run_script

SCHEMA = pa.schema([("t", pa.int64()), ("v", pa.string())])
ROWS = [f'{i},"line\n{i}"\n' if i % 7 == 0 else f"{i},v{i}\n" for i in range(200)] + ["x,bad\n"]
CSV = ("t,v\n" + "".join(ROWS)).encode()
JSON = "".join(f'{{"t": {i}, "v": "v{i}"}}\n' for i in range(200)).encode()


@pytest.mark.parametrize(("name", "data"), [("s.csv", CSV), ("s.jsonl", JSON), ("s.json", JSON)])
def test_a_packed_file_has_the_rows_of_the_plain_one(name: str, data: bytes, tmp_path):
    (tmp_path / name).write_bytes(data)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
    plain = drain(_opened(tmp_path, name), 10_000)
    assert len(plain[0]) == 200
    for rows in (1, 3, 50, 10_000):
        assert drain(_opened(tmp_path, f"{name}.gz"), rows) == plain


@pytest.mark.parametrize("url", ["in", "in/*.csv.gz", "in/*.gz"])
def test_folders_hold_both_kinds(url: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for i in range(3):
        (tmp_path / f"in/{i}.csv.gz").write_bytes(gzip.compress(f"t,v\n{i},a\n".encode()))
    if url == "in":
        (tmp_path / "in/3.csv").write_text("t,v\n3,a\n")
    good, errors, _ = drain(_opened(tmp_path, url), 2)
    assert [row[0] for _, row in good] == list(range(4 if url == "in" else 3)) and not errors


def test_a_run_goes_on_after_every_batch(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(CSV)
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(CSV))
    script = """
      CREATE STREAM s (t bigint, v string) ORDER BY t SOURCE '{}';
      SELECT STREAMED count(*) AS n FROM s [Rows 20] WHERE v LIKE '%1%';
    """
    whole = run_script(script.format("s.csv"), tmp_path)
    again = run_script(script.format("s.csv.gz"), tmp_path, {"batch_rows": "9"}, restart=True)
    assert again["q1"].to_pylist() == whole["q1"].to_pylist()
    assert again["s.errors"].to_pylist() == whole["s.errors"].to_pylist()


def test_the_format_may_be_said(tmp_path: Path) -> None:
    (tmp_path / "data.gz").write_bytes(gzip.compress(CSV))
    assert len(drain(_opened(tmp_path, "data.gz", format="csv"), 50)[0]) == 200


@pytest.mark.parametrize("kept", [5, 0.5, -1])
def test_a_file_without_its_end_is_an_error(kept: float, tmp_path: Path) -> None:
    data = gzip.compress(CSV)
    part = data[: int(len(data) * kept)] if 0 < kept < 1 else data[: int(kept)]
    (tmp_path / "s.csv.gz").write_bytes(part)
    with pytest.raises(MillstreamError, match=r'"s\.csv\.gz" has no end') as error:
        drain(_opened(tmp_path, "s.csv.gz"), 50)
    assert error.value.hint and "bytes could be unpacked" in str(error.value.detail)


def test_something_else_at_its_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(CSV) + b"200,plain\n")
    with pytest.raises(MillstreamError, match="cannot be unpacked as gzip"):
        drain(_opened(tmp_path, "s.csv.gz"), 50)


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(CSV))
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "s.csv.gz").write_bytes(data)
    with pytest.raises(MillstreamError, match=r"s\.csv\.gz"):
        drain(_opened(tmp_path, "s.csv.gz"), 50)


def test_a_followed_file_counts_once_it_is_whole_and_may_be_appended_to(tmp_path: Path) -> None:
    path, first, second = tmp_path / "s.csv.gz", b"t,v\n1,a\n", b"2,b\n3,c\n"
    data = gzip.compress(first)
    path.write_bytes(data[:10])
    source = _opened(tmp_path, "s.csv.gz", follow=True)
    slices, position, ended = source.plan(source.start(), 10)
    assert slices == [] and not ended
    path.write_bytes(data)
    slices, position, _ = source.plan(position, 10)
    assert [piece.rows for piece in slices] == [1]
    kept = slices[0]
    path.write_bytes(data + gzip.compress(second)[:-3])
    assert source.plan(position, 10)[0] == []
    path.write_bytes(data + gzip.compress(second))
    slices, position, _ = source.plan(position, 10)
    assert [piece.rows for piece in slices] == [2]
    assert source.read(kept, ["t"]).rows["t"].to_pylist() == [1], "a slice stays what it was"
    path.write_bytes(gzip.compress(b"t,v\n"))
    with pytest.raises(MillstreamError, match="has become shorter"):
        source.plan(position, 10)


def test_null_cells(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text('t,v\n1,NA\n2,"NA"\n3,\n4,""\nNA,x\n5, NA\n')
    good, errors, _ = drain(_opened(tmp_path, "s.csv", null="NA"), 2)
    assert [row for _, row in good] == [
        (1, None), (2, "NA"), (3, None), (4, ""), (None, "x"), (5, " NA"),
    ]  # fmt: skip
    assert errors == []
    (tmp_path / "n.csv").write_text("t,v\n1,\\N\n2,null\n")
    good, _, _ = drain(_opened(tmp_path, "n.csv", null="\\N"), 2)
    assert [row for _, row in good] == [(1, None), (2, "null")]


def _opened(folder: Path, url: str, follow: bool = False, **options: str):
    return open_source(url, "s", SCHEMA, options, str(folder), follow)
