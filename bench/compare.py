"""Before and after: the same measurements in another checkout and in this one, in turns.

    python -m bench.compare ../millstream-before --only filter --only "rows window"

Machines are noisy, and noise changes slowly: the checkouts take turns, and every figure is the
middle of its turns. The other checkout runs its own benchmark with its own code.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parents[1]
MEASUREMENTS = (
    "sliding group by",
    "filter",
    "range window",
    "rows window",
    "global count",
    "distinct",
    "not in",
    "many",
    "state",
    "small",
)
SMALLER_IS_BETTER = ("milliseconds", "bytes", "window of")

Figures = dict[str, float]


def measured(checkout: Path, only: str, folder: Path, repeats: int) -> Figures:
    """The figures of one measurement, by the code of a checkout."""
    (folder / "results.json").unlink(missing_ok=True)
    words = ["--only", only, "--folder", str(folder), "--repeats", str(repeats)]
    code = os.pathsep.join((str(checkout / "src"), str(checkout)))
    subprocess.run(
        [sys.executable, "-m", "bench", *words],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": code},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    found = json.loads((folder / "results.json").read_text())
    return {
        f"{name}: {key}": float(value)
        for name, values in found.items()
        for key, value in values.items()
        if _is_figure(key)
    }


def _is_figure(key: str) -> bool:
    """Rates, times and bytes of ours; the parts of a trigger and Spark's own rates are not."""
    if key.startswith("spark"):
        return False
    return "rows/s" in key or any(word in key for word in SMALLER_IS_BETTER)


def gain(name: str, before: list[float], after: list[float]) -> float:
    """How many times as good the figure has become: above 1 is better.

    >>> gain("window of 9: rows/s", [10.0], [12.0]), gain("small: milliseconds", [10.0], [5.0])
    (1.2, 2.0)
    """
    old, new, key = median(before), median(after), name.rpartition(": ")[2]
    return old / new if any(word in key for word in SMALLER_IS_BETTER) else new / old


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("before", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--only", action="append", help="one of the measurements; may be repeated")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("bench-out"))
    options = parser.parse_args()
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(width=120)
    for only in options.only or MEASUREMENTS:
        table = Table("figure", "before", "after", "gain")
        found: dict[str, tuple[list[float], list[float]]] = {}
        for _ in range(options.turns):
            for side, checkout in enumerate((options.before.absolute(), HERE)):
                for name, value in measured(checkout, only, folder, options.repeats).items():
                    found.setdefault(name, ([], []))[side].append(value)
        for name, (before, after) in found.items():
            if before and after:
                numbers = (median(before), median(after), gain(name, before, after))
                table.add_row(name, *(f"{n:,.2f}" for n in numbers))
        console.print(table)


if __name__ == "__main__":
    main()
