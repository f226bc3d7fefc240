"""What the same queries cost through Spark: reading, sending, operators, state and Spark's own."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from pyspark.sql import SparkSession

from bench.links import Settings, job_of
from bench.measure import carry_out

UNITS, BATCHES = 25_000, 4
"""Units of time in a batch, and how many batches are measured once the window is full."""


def turn_by_turn(
    spark: SparkSession, text: str, window: int, variants: Mapping[str, Settings], turns: int
) -> dict[str, dict[str, float]]:
    """Microseconds per 1,000 tuples under every variant of the settings: of the whole trigger, and
    of that in operators and in reading and writing their state."""
    every: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    for _ in range(turns):
        for name, settings in variants.items():
            every[name].append(figures_of(spark, text, window, settings))
    return {
        name: {measured: median(one[measured] for one in found) for measured in found[0]}
        for name, found in every.items()
    }


def figures_of(spark: SparkSession, text: str, window: int, settings: Settings) -> dict[str, float]:
    """One run, from an empty window until it has been full for some batches."""
    fill = -(-window // UNITS)
    job = job_of(
        text.format(window=window), {**settings, "batch_rows": str(UNITS)}, UNITS * (fill + BATCHES)
    )
    triggers, reports = carry_out(spark, job)
    full = slice(fill, fill + BATCHES)
    whole = [t["triggerExecution"] / 1e3 for t in triggers][full]
    inside = [sum(r.parts[p] for p in ("load", "run", "write")) for r in reports][full]
    each = 1e9 / (UNITS * len(job.graph.scans))
    return {
        "µs per 1,000, the whole trigger": median(whole) * each,
        "µs per 1,000, operators and state": median(inside) * each,
    }
