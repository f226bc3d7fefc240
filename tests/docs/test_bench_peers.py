"""The shapes that are compared with other engines: ours bind, and DuckDB answers the same."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream
from docs.layers import ROOT

sys.path.insert(0, str(ROOT))
SHAPES = importlib.import_module("bench.peers.shapes").SHAPES
STREAM = importlib.import_module("bench.measure").STREAM
sys.path.remove(str(ROOT))


def rows_of(folder: Path) -> None:
    """Few items and bidders, a second apart: windows expire, and NOT EXISTS finds partners."""
    random = np.random.default_rng(5)
    for name in ("bids", "asks"):
        (folder / name).mkdir()
        stamps = 1_704_067_200_000_000 + 1_000_000 * np.arange(300)
        table = pa.table(
            {
                "item": random.integers(0, 20, 300),
                "price": random.integers(1, 100, 300).astype(float),
                "bidder": random.integers(0, 8, 300),
                "ts": pa.array(stamps).cast(pa.timestamp("us")),
            }
        )
        pq.write_table(table, folder / name / "rows.parquet")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_binds_and_answers_as_duckdb(shape, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    rows_of(tmp_path)
    with millstream.connect(host="local") as db, duckdb.connect() as other:
        for name in shape.streams:
            db.execute(STREAM.format(name=name, folder=tmp_path / name))
            other.execute(f"CREATE VIEW {name} AS FROM '{tmp_path / name}/*.parquet'")
        query = db.query(shape.ours.rstrip(";").replace("STREAMED ", ""))
        if shape.duckdb is None:
            db.run()
            assert shape.remark and query.table().num_rows
            return
        theirs = other.execute(shape.duckdb).fetchall()
        assert theirs
        if shape.same:
            db.run()
            held = query.table().select(other.sql(shape.duckdb).columns)
            assert Counter(zip(*held.to_pydict().values())) == Counter(theirs)
