"""OVER: windows of every row through Spark, in turns with DuckDB over the same files; slides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.measure import Measured, middle
from bench.peers import duck

AVERAGES = {
    "avg of 1,000 rows of each item": (
        "SELECT item, avg(price) OVER (PARTITION BY item ORDER BY ts ROWS 999 PRECEDING) AS a "
        "FROM bids"
    ),
    "avg of 10 minutes of each item": (
        "SELECT item, avg(price) OVER (PARTITION BY item ORDER BY ts {range}) AS a FROM bids"
    ),
    "sum of 40,000 rows": (
        "SELECT item, sum(price) OVER (ORDER BY ts ROWS 39999 PRECEDING) AS s FROM bids"
    ),
}
OURS = "RANGE 10 MINUTES PRECEDING"
THEIRS = "RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW"
SLIDES = (1, 10, 100, 1_000, 10_000, 40_000)
SLIDING = "SELECT sum(price) OVER (ROWS 39999 PRECEDING SLIDE {slide}) AS s FROM bids;"
TARGET = 1.0

Run = Callable[[str], Measured]


def against_duckdb(run: Run, data: Path, query: str, turns: int, warm_up: int) -> dict[str, object]:
    """Turn by turn, after some to warm up; the ratio is the middle of the turns' ratios."""
    mine, theirs = [], []
    for turn in range(turns + warm_up):
        own = run(query.format(range=OURS) + ";")
        other = duck.seconds(query.format(range=THEIRS), {"bids": data})
        if turn >= warm_up:
            mine.append(own.rate)
            theirs.append(own.rows / other)
    return {
        "ours rows/s": middle(mine),
        "duckdb rows/s": middle(theirs),
        "ratio": middle([a / b for a, b in zip(mine, theirs)]),
        "target": TARGET,
    }


def slides(run: Run) -> dict[str, object]:
    """The rate, and the rows and bytes of state after a batch, with panes and without."""
    found: dict[str, object] = {}
    for panes in ("on", "off"):
        script = f"SET rules = {panes};\n{SLIDING}"
        run(script.format(slide=1))
        for slide in SLIDES:
            measured = run(script.format(slide=slide))
            name = f"slide {slide:,}, panes {panes}"
            found[f"{name}: rows/s"] = measured.rate
            found[f"{name}: state rows"] = measured.batches[-1].state_rows
            found[f"{name}: state bytes"] = measured.batches[-1].state_bytes
    return found
