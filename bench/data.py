"""The benchmark's rows: item, price, bidder, ts one millisecond apart, in Parquet files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, FILES = 8_000_000, 8
START = 1_704_067_200_000_000


def make(folder: Path, rows: int = ROWS, files: int = FILES, stream: str = "bids") -> Path:
    """Write the files of a stream unless they are there; the same rows every time."""
    target = folder / f"{stream}-{rows}-{files}"
    if (target / "done").exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng([7, *stream.encode()])
    each = rows // files
    for number in range(files):
        first = number * each
        stamps = START + 1000 * np.arange(first, first + each)
        table = pa.table(
            {
                "item": random.integers(0, 10_000, each),
                "price": np.round(random.lognormal(3, 1, each), 2),
                "bidder": random.integers(0, 1_000_000, each),
                "ts": pa.array(stamps).cast(pa.timestamp("us")),
            }
        )
        pq.write_table(table, target / f"part-{number}.parquet")
    (target / "done").touch()
    return target
