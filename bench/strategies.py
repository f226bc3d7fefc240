"""The strategies of state beside each other: the same queries, windows and rows, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench.in_operators import Figures, beside_each_other
from bench.links import QUERIES
from bench.through_spark import turn_by_turn

WINDOWS = (2_000, 20_000, 50_000, 100_000, 200_000)
STRATEGIES = {name: {"strategy": name} for name in ("negative", "direct", "update_pattern")}
OURS = "update_pattern"
FORCED = {
    "ends": {"strategy": OURS, "negation": "ends"},
    "open": {"strategy": OURS, "negation": "negative"},
}
"""Between these two `update_pattern` chooses above a negation, by what it measures."""

NEGATIONS = ("3", "3 NOT EXISTS", "5 negation below", "5 negation above")
TOLD = ("1 telnet", "2 source", "4")
"""Queries that are measured as STREAMED, too."""

SPARK_WINDOWS = (20_000, 200_000)
TOLD_WINDOWS = (100_000,)

Found = dict[str, dict[str, dict[str, Figures]]]
"""By query, window and strategy."""


def measure(
    way: Callable[..., dict[str, Figures]],
    windows: Sequence[int],
    queries: Iterable[str] = QUERIES,
    form: str = "COMPLETE",
) -> Found:
    """The figures that a way of measuring gives for queries over windows, under all strategies."""
    return {
        query: {
            str(window): way(
                QUERIES[query].replace("{form}", form),
                window,
                {**STRATEGIES, **FORCED} if query in NEGATIONS else STRATEGIES,
            )
            for window in windows
        }
        for query in queries
    }


def show(title: str, found: Found) -> None:
    """Tables of the figures by window, with the ratio of the best of the others to ours."""
    names = dict.fromkeys(
        n for w in found.values() for f in w.values() for s in f.values() for n in s
    )
    for measured in names:
        table = Table(title=f"{title}: {measured}", title_justify="left")
        columns = dict.fromkeys(n for w in found.values() for f in w.values() for n in f)
        for column in ("query", "window", *columns, "best other : ours"):
            table.add_column(column, justify="left" if column == "query" else "right")
        for query, windows in found.items():
            for window, figures in windows.items():
                values = [figures.get(name, {}).get(measured) for name in columns]
                table.add_row(
                    query,
                    f"{int(window):,}",
                    *("" if value is None else f"{value:,.0f}" for value in values),
                    f"{ratio(figures, measured):.2f}",
                )
        Console(width=120).print(table)


def ratio(figures: Mapping[str, Figures], measured: str) -> float:
    """How many times what ours costs the best of the others does."""
    others = [given[measured] for name, given in figures.items() if name != OURS]
    return min(others) / max(figures[OURS][measured], 1e-9)


def run(spark: Callable[[], SparkSession], turns: int) -> dict[str, Found]:
    alone = measure(beside_each_other, WINDOWS)
    show("in the operators", alone)
    told = measure(beside_each_other, TOLD_WINDOWS, TOLD, "STREAMED")
    show("in the operators, told as changes", told)
    session = spark()
    turn_by_turn(session, QUERIES["4"].replace("{form}", "COMPLETE"), 20_000, STRATEGIES, 1)
    outside = measure(lambda *given: turn_by_turn(session, *given, turns), SPARK_WINDOWS)
    show("through Spark", outside)
    return {"in the operators": alone, "told as changes": told, "through Spark": outside}
