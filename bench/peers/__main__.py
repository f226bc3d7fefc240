"""`python -m bench.peers`: rows per second of each engine, and ratios, as a table and as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from statistics import median

import duckdb
import pyspark
from rich.console import Console
from rich.table import Table

from bench.data import make
from bench.measure import ours
from bench.peers import duck, environment
from bench.peers.flink import Flink
from bench.peers.shapes import SHAPES, Shape
from millstream.spark.session import make_session

TARGET = 3.0
"""Ours against Flink's, on every shape that Flink has."""

NOTES = (
    "ours: through Spark, default settings, 2 cores, with a checkpoint",
    "DuckDB: once over the same Parquet files, as a batch, 2 threads",
    "Flink: streaming, parallelism 2, checkpoints every 10 s; "
    "its input differs: the same rows as CSV",
)

Seconds = Callable[[str, Mapping[str, Path]], float]


def compare(
    shape: Shape, engines: Mapping[str, Seconds], folder: Path, rows: int, turns: int
) -> dict[str, object]:
    """Turn by turn, after one that does not count; an engine that fails is left out, with why."""
    files = 4 if rows >= 4_000 else 1
    each = rows // len(shape.streams)
    streams = {name: make(folder, each, files, name) for name in shape.streams}
    rates: dict[str, list[float]] = {}
    skipped: dict[str, str] = {}
    for turn in range(turns + 1):
        for name, run in engines.items():
            query = getattr(shape, name)
            if query is None:
                skipped[name] = shape.remark
            if name in skipped:
                continue
            try:
                seconds = run(query, streams)
            except environment.Missing as reason:
                skipped[name] = str(reason)
                continue
            if turn:
                rates.setdefault(name, []).append(rows / seconds)
    found: dict[str, object] = {f"{n} rows/s": median(r) for n, r in rates.items()}
    for name in rates.keys() - {"ours"}:
        pairs = zip(rates["ours"], rates[name])
        found[f"ours / {name}"] = median(a / b for a, b in pairs)
    return {**found, "skipped": skipped, "remark": shape.remark}


def show(results: Mapping[str, Mapping[str, object]]) -> None:
    columns = ("ours rows/s", "duckdb rows/s", "flink rows/s", "ours / duckdb", "ours / flink")
    table = Table("shape", *columns, "target")
    notes = list(NOTES)
    for name, found in results.items():
        cells = [f"{found[c]:,.2f}" if c in found else "-" for c in columns]
        table.add_row(name, *cells, f"{TARGET:g}")
        notes += [f"{name}: {text}" for text in found["skipped"].values() if text]  # type: ignore
        notes += [f"{name}: {found['remark']}"] if found["remark"] else []
    console = Console(width=120)
    console.print(table)
    for note in dict.fromkeys(notes):
        console.print(note, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers")
    parser.add_argument("--folder", type=Path, default=Path("bench-out"))
    parser.add_argument("--environment", type=Path, default=Path(".venv-flink"))
    parser.add_argument("--rows", type=int, default=8_000_000, help="of all streams of a query")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="shapes with this word in their name")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    spark = make_session("local[2]")

    def own(query: str, streams: Mapping[str, Path]) -> float:
        return ours(spark, dict(streams), query, options.rows, None).seconds

    flink, reason = None, ""
    try:
        flink = Flink(options.environment)
    except environment.Missing as missing:
        reason = str(missing)

    def flinks(query: str, streams: Mapping[str, Path]) -> float:
        if flink is None:
            raise environment.Missing(reason)
        return flink.seconds(query, streams)

    engines: dict[str, Seconds] = {"ours": own, "duckdb": duck.seconds, "flink": flinks}
    results = {}
    try:
        for shape in SHAPES:
            if options.only in shape.name:
                results[shape.name] = compare(
                    shape, engines, options.folder, options.rows, options.repeats
                )
                print(shape.name, results[shape.name], flush=True)
    finally:
        if flink is not None:
            flink.close()
    show(results)
    versions = {
        "pyspark": pyspark.__version__,
        "duckdb": duckdb.__version__,
        "flink": environment.VERSION,
    }
    target = options.folder / "peers.json"
    told = {"date": date.today().isoformat(), "rows": options.rows, "versions": versions}
    target.write_text(json.dumps({**told, "shapes": results}, indent=2) + "\n")
    print(f"written to {target}")


if __name__ == "__main__":
    main()
