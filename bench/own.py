"""Aggregates of one's own through Spark: grouped, over windows, with slides, after a restart."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame

from bench.measure import Measured, middle, sparks
from bench.windowed import AGGREGATES, sliding

DECAY = "SELECT item, decay_avg(price, 0.9) AS d FROM bids GROUP BY item;"
SUM = "SELECT STREAMED item, sum(price) AS total FROM bids GROUP BY item;"
SLIDES = (1, 10, 100, 1_000, 10_000, 40_000)
WINDOWS = (100, 1_000, 10_000, 100_000, 1_000_000)
FEW = 200_000
"""Rows for Spark's own."""

TARGET, FLAT = 0.8, 0.9

Run = Callable[[str], Measured]


def grouped(run: Run, frame: DataFrame, few: int, turns: int) -> dict[str, object]:
    """The decay average beside our own sum, turn by turn, and beside one in pandas on Spark, which
    gets fewer rows."""
    pairs = [(run(DECAY), run(SUM)) for _ in range(turns + 1)][1:]
    theirs = [sparks(in_pandas(frame), few, "append") for _ in range(2)][-1]
    ours = middle([a.rate for a, _ in pairs])
    return {
        "decay average rows/s": ours,
        "sum rows/s": middle([b.rate for _, b in pairs]),
        "ratio": middle([a.rate / b.rate for a, b in pairs]),
        "target": TARGET,
        "applyInPandasWithState rows/s": theirs.rate,
        "times applyInPandasWithState": ours / theirs.rate,
    }


def in_pandas(frame: DataFrame) -> DataFrame:
    """The same average by item, a row for every tuple, as a function over pandas' frames."""
    return frame.groupBy("item").applyInPandasWithState(
        decayed, "item long, d double", "total double, weight double", "append", "NoTimeout"
    )


def decayed(key: tuple[int], parts: Any, state: Any) -> Any:
    total, weight = state.get if state.exists else (0.0, 0.0)
    for part in parts:
        found = []
        for price in part["price"].to_numpy():
            total, weight = 0.9 * total + price, 0.9 * weight + 1
            found.append(total / weight)
        yield pd.DataFrame({"item": key[0], "d": found})
    state.update((total, weight))


def over_windows(run: Run) -> dict[str, object]:
    """Both aggregates with EXPIRE over windows of many widths, and how flat their rates are."""
    found: dict[str, object] = {}
    for name, aggregate in AGGREGATES.items():
        run(aggregate.script("A", WINDOWS[0]))
        rates = {w: run(aggregate.script("A", w)).rate for w in WINDOWS}
        found |= {f"{name}, {w:,} rows: rows/s": rate for w, rate in rates.items()}
        found[f"{name}, slowest : narrowest"] = min(rates.values()) / rates[WINDOWS[0]]
    return {**found, "target": FLAT}


def slides(run: Run) -> dict[str, object]:
    """The rate, and the rows and bytes of state after a batch, with panes and without."""
    found: dict[str, object] = {}
    for panes in (True, False):
        run(sliding(SLIDES[0], panes))
        for slide in SLIDES:
            measured = run(sliding(slide, panes))
            name = f"slide {slide:,}, panes {'on' if panes else 'off'}"
            found[f"{name}: rows/s"] = measured.rate
            found[f"{name}: state rows"] = measured.batches[-1].state_rows
            found[f"{name}: state bytes"] = measured.batches[-1].state_bytes
    return found


FIRST = """
import time
import numpy as np
import pyarrow as pa
from bench.windowed_operators import Run
run = Run.of({script!r})
begun = time.perf_counter()
run.batch(10_000)
print(1000 * (time.perf_counter() - begun))
run = Run.of({script!r})
begun = time.perf_counter()
run.batch(10_000)
print(1000 * (time.perf_counter() - begun))
"""


def first_calls() -> dict[str, object]:
    """Milliseconds for the first 10,000 tuples of a process: when machine code is made, and when
    another process has made it; and for the next 10,000, in a run of their own."""
    found: dict[str, object] = {}
    for name, aggregate in AGGREGATES.items():
        code = FIRST.format(script=aggregate.script("A", 1_000))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o700)
            first, again = (_milliseconds(code, folder) for _ in range(2))
        found[f"{name}: machine code is made, ms"] = first[0]
        found[f"{name}: after a restart, ms"] = again[0]
        found[f"{name}: later, ms"] = again[1]
    return found


def _milliseconds(code: str, folder: str) -> list[float]:
    given = {**os.environ, "MILLSTREAM_CACHE": folder}
    words = [sys.executable, "-c", code]
    said = subprocess.run(words, env=given, check=True, capture_output=True, text=True)
    return [float(line) for line in said.stdout.split()]
