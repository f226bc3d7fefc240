"""A process that writes rows at a rate, each with the time of the wall clock at which it came."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

EVERY = 0.02
"""Seconds between two files."""

LATE = 1.0
"""A writer that is so many seconds behind its plan has no time to keep the rate."""


def writing(folder: Path, rate: int, seconds: float) -> BaseProcess:
    """Begin to write files of rows into a folder, in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    process = multiprocessing.get_context("spawn").Process(
        target=write, args=(folder, rate, seconds), daemon=True
    )
    process.start()
    return process


def write(folder: Path, rate: int, seconds: float) -> None:
    """Write a file every 20 ms, behind those that are there. The rows of a file have come, evenly,
    since the one before it; it gets its name when it is whole."""
    random = np.random.default_rng(len(folder.name))
    pool = {
        "item": random.integers(0, 10_000, 1 << 20),
        "price": np.round(random.lognormal(3, 1, 1 << 20), 2),
        "bidder": random.integers(0, 1_000_000, 1 << 20),
    }
    begun = time.time()
    written, number, first = 0, 0, len(list(folder.glob("*.parquet")))
    while (now := time.time()) < begun + seconds:
        many = int((now - begun) * rate) - written
        if many:
            stamps = ((begun + np.arange(written, written + many) / rate) * 1e6).astype(np.int64)
            at = np.arange(written, written + many) & ((1 << 20) - 1)
            columns = {name: pa.array(values[at]) for name, values in pool.items()}
            columns["ts"] = pa.array(stamps).cast(pa.timestamp("us"))
            part = folder / f".{first + number:08}.tmp"
            pq.write_table(pa.table(columns), part, compression="none", use_dictionary=False)
            part.rename(folder / f"{first + number:08}.parquet")
            written, number = written + many, number + 1
        ahead = begun + number * EVERY - time.time()
        if ahead < -LATE:
            raise SystemExit(3)
        if ahead > 0:
            time.sleep(ahead)
