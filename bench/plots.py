"""`python -m bench.plots`: aggregates of one's own as figures, from the results of a run.

Each is written as SVG and as PNG.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.figures import FOLDER

Lines = dict[str, dict[int, float]]
"""Values by what stands on the axis below, a line for each name."""

WAYS = {
    "A": "A: with EXPIRE",
    "B": "B: by hand, in Numba",
    "C": "C: without EXPIRE",
    "D": "D: computed anew",
}
MARKS = "so^D"
SLIDING = (
    ("own: slides", "own-6-7-slides", "sum of 40,000 tuples, of one's own"),
    ("over: sum of 40,000 rows with a slide", "over-6-7-slides", "sum of 40,000 tuples, built in"),
)


def write(results: Mapping[str, Any], folder: Path = FOLDER) -> None:
    """The figures of what has been measured."""
    for name, number in (("average", 4), ("frequency", 5)):
        panels = {}
        if (found := results.get(f"own: {name} in the operator")) is not None:
            panels["in the operator, M tuples/s"] = ways(found)
        if (found := results.get("own: windows")) is not None:
            panels["through Spark, M tuples/s"] = through_spark(found, name)
        if panels:
            draw(
                f"own-{number}-{name}", f"{name} over windows", "tuples in a window", panels, folder
            )
    for name, file, title in SLIDING:
        if (found := results.get(name)) is not None:
            panels = {what: slides(found, what) for what in ("state rows", "state bytes", "rows/s")}
            draw(file, title, "SLIDE", panels, folder)


def ways(found: Mapping[str, float]) -> Lines:
    """
    >>> ways({"100 rows: A": 3.0, "1,000 rows: A": 2.0, "100 rows: A : B": 0.9})
    {'A: with EXPIRE': {100: 3.0, 1000: 2.0}}
    """
    lines: Lines = defaultdict(dict)
    for name, value in found.items():
        if (said := re.fullmatch(r"([\d,]+) rows: ([A-D])", name)) is not None:
            lines[WAYS[said[2]]][_number(said[1])] = value
    return dict(lines)


def through_spark(found: Mapping[str, float], aggregate: str) -> Lines:
    line = {}
    for name, value in found.items():
        if (said := re.fullmatch(rf"{aggregate}, ([\d,]+) rows: rows/s", name)) is not None:
            line[_number(said[1])] = value / 1e6
    return {WAYS["A"]: line}


def slides(found: Mapping[str, float], what: str) -> Lines:
    lines: Lines = defaultdict(dict)
    for name, value in found.items():
        said = re.fullmatch(rf"slide ([\d,]+), (panes \w+): {what}", name)
        if said is not None:
            lines[said[2]][_number(said[1])] = value
    return dict(lines)


def draw(file: str, title: str, below: str, panels: Mapping[str, Lines], folder: Path) -> None:
    """A panel for everything that was measured, all axes logarithmic."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["svg.hashsalt"] = file
    figure = Figure(figsize=(4.2 * len(panels), 3.6), layout="constrained")
    figure.suptitle(title)
    for axes, (measured, lines) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items()
    ):
        for mark, (name, line) in zip(MARKS, lines.items()):
            axes.plot(list(line), list(line.values()), f"{mark}-", label=name)
        axes.set(xscale="log", yscale="log", xlabel=below, title=measured)
        axes.grid(alpha=0.3)
        axes.legend()
    for kind in ("svg", "png"):
        target = folder / f"{file}.{kind}"
        figure.savefig(target, metadata={"Date": None} if kind == "svg" else None)
        print(f"written to {target}")


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.plots")
    parser.add_argument("--results", type=Path, default=Path("bench-out/results.json"))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    write(json.loads(options.results.read_text()), options.folder)


if __name__ == "__main__":
    main()
