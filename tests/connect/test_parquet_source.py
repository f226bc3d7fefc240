"""Parquet files."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drain import drain

from millstream.connect import open_source
from millstream.errors import MillstreamError

BIDS = pa.schema([("item", pa.int64()), ("price", pa.float64()), ("ts", pa.timestamp("us"))])


@pytest.fixture
def folder(tmp_path):
    for number in range(3):
        table = pa.table(
            {
                "TS": pa.array([number * 100 + i for i in range(25)], pa.timestamp("us")),
                "price": pa.array([i / 2 for i in range(25)], pa.float32()),
                "item": pa.array(range(25), pa.int32()),
                "other": ["x"] * 25,
            }
        )
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=10)
    (tmp_path / "_SUCCESS").touch()
    return tmp_path


def opening(folder, url, schema=BIDS, follow=False):
    return open_source(url, "s", schema, {}, str(folder), follow)


def test_files_of_a_folder_in_order(folder):
    good, errors, _ = drain(opening(folder, "."), 1000)
    assert errors == []
    assert [seq for seq, _ in good] == list(range(1, 76))
    assert good[26][1] == (1, 0.5, dt.datetime(1970, 1, 1, 0, 0, 0, 101))


def test_slices_are_row_groups_or_parts_and_know_their_largest(folder):
    source = opening(folder, "*.parquet")
    slices, _, ended = source.plan(source.start(), 1000)
    assert [s.rows for s in slices] == [10, 10, 5] * 3 and ended
    assert [source.largest(s, "ts") for s in slices][:4] == [9, 19, 24, 109]
    assert source.largest(slices[0], "item") == 9
    slices, _, ended = source.plan(source.start(), 13)
    assert [s.rows for s in slices] == [10, 3] and not ended
    assert source.largest(slices[1], "ts") == 12


def test_values_that_do_not_fit_are_errors(tmp_path):
    table = pa.table({"a": [1.0, 2.5, None, 3.0], "b": ["1", "x", "3", "4"], "c": [1, 2, 3, 4]})
    pq.write_table(table, tmp_path / "a.parquet")
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("c", pa.decimal128(5, 1))])
    source = opening(tmp_path, "a.parquet", schema)
    good, errors, _ = drain(source, 10, ["c"])
    assert good == [(1, (Decimal(1),)), (3, (Decimal(3),)), (4, (Decimal(4),))]
    assert errors == [(2, 'column "a": "2.5" is not a bigint', '{"a": 2.5, "b": "x", "c": 2}')]
    assert source.largest(source.plan(source.start(), 10)[0][0], "a") == 3


def test_zones_and_nanoseconds(tmp_path):
    table = pa.table(
        {
            "a": pa.array([1_500], pa.timestamp("ns")),
            "b": pa.array([7], pa.timestamp("ms", "Europe/Berlin")),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    source = opening(tmp_path, "a.parquet", pa.schema([(n, pa.timestamp("us")) for n in "ab"]))
    stamps = (dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.datetime(1970, 1, 1, 0, 0, 0, 7000))
    assert drain(source, 10)[0] == [(1, stamps)]


def test_what_cannot_be_read(folder):
    (folder / "bad.parquet").write_text("no parquet at all")
    with pytest.raises(MillstreamError, match="cannot be read as Parquet"):
        opening(folder, "bad.parquet")
    with pytest.raises(MillstreamError, match="Did you mean price"):
        opening(folder, "0.parquet", pa.schema([("prize", pa.int64())]))
    with pytest.raises(MillstreamError, match="cannot be read as timestamp"):
        opening(folder, "0.parquet", pa.schema([("item", pa.timestamp("us"))]))


def test_followed_folder(folder):
    source = opening(folder, "*.parquet", follow=True)
    slices, position, ended = source.plan(source.start(), 1000)
    assert sum(s.rows for s in slices) == 75 and not ended
    whole = (folder / "2.parquet").read_bytes()
    (folder / "3.parquet").write_bytes(whole[:100])
    slices, position, ended = source.plan(position, 1000)
    assert slices == [] and not ended
    (folder / "3.parquet").write_bytes(whole)
    slices, position, ended = source.plan(position, 1000)
    assert [(s.seq, s.rows) for s in slices] == [(76, 10), (86, 10), (96, 5)] and not ended
    assert source.plan(position, 1000)[0] == []
