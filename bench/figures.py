"""`python -m bench.figures`: the comparison of strategies as figures, from the results of a run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path

HEIGHT = 340
TOP, BOTTOM, LEFT, PANEL, GAP = 84, 286, 64, 236, 88
FOLDER = Path("docs/figures")
OURS = "update_pattern"
MARKS = {
    "negative": ("a", "square"),
    "direct": ("b", "triangle"),
    OURS: ("c", "circle"),
    "ends": ("d", "diamond"),
    "open": ("e", "bar"),
}
STYLE = """
    text { font: 13px "DejaVu Sans", Verdana, Helvetica, sans-serif; fill: #1f3244 }
    .title { font-weight: bold; font-size: 15px }
    .ground { fill: #ffffff } .grid { stroke: #d5dde5 } .axis { stroke: #7a93ab }
    polyline { fill: none; stroke-width: 2.2 }
    .a { stroke: #b3541e; fill: #b3541e } .b { stroke: #7a5ba6; fill: #7a5ba6 }
    .c { stroke: #1f7a4d; fill: #1f7a4d } .d { stroke: #5b6b7a; fill: #5b6b7a }
    .e { stroke: #1d6fa5; fill: #1d6fa5 }
    @media (prefers-color-scheme: dark) {
      text { fill: #dfe7ee } .ground { fill: #15202b } .grid { stroke: #2c3a47 }
      .a { stroke: #f2a172; fill: #f2a172 } .b { stroke: #c3a8ec; fill: #c3a8ec }
      .c { stroke: #6fd6a2; fill: #6fd6a2 } .d { stroke: #a9b8c6; fill: #a9b8c6 }
      .e { stroke: #7cc0ee; fill: #7cc0ee }
    }
    polyline { fill: none !important }
"""

Figures = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By window, strategy and what was measured."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes, both logarithmic: what was measured over the window."""

    left: int
    measured: str
    figures: Figures

    @property
    def windows(self) -> list[int]:
        return sorted(int(window) for window in self.figures)

    def values(self, strategy: str) -> list[float]:
        return [self.figures[str(window)][strategy][self.measured] for window in self.windows]

    @property
    def bounds(self) -> tuple[int, int]:
        """The powers of ten around all values."""
        every = [max(v, 1) for name in strategies(self.figures) for v in self.values(name)]
        low, high = floor(log10(min(every))), ceil(log10(max(every)))
        return low, max(high, low + 1)

    def x(self, window: float) -> float:
        first, last = log10(self.windows[0]), log10(self.windows[-1])
        return self.left + PANEL * (log10(window) - first) / ((last - first) or 1)

    def y(self, value: float) -> float:
        low, high = self.bounds
        return BOTTOM - (BOTTOM - TOP) * (log10(max(value, 1)) - low) / (high - low)

    def parts(self) -> Iterator[str]:
        yield f'<text x="{self.left}" y="{TOP - 14}">{self.measured}</text>'
        low, high = self.bounds
        for power in range(low, high + 1):
            y = self.y(10**power)
            yield f'<path class="grid" d="M{self.left} {y:.1f} h{PANEL}"/>'
            place = f'x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end"'
            yield f"<text {place}>{_short(10**power)}</text>"
        yield f'<path class="axis" d="M{self.left} {BOTTOM} h{PANEL}"/>'
        for window in self.windows:
            x = self.x(window)
            yield f'<path class="axis" d="M{x:.1f} {BOTTOM} v5"/>'
            place = f'x="{x:.1f}" y="{BOTTOM + 20}" text-anchor="middle"'
            yield f"<text {place}>{_short(window)}</text>"
        for name in sorted(strategies(self.figures), key=lambda name: name == OURS):
            yield from self._line(name)

    def _line(self, name: str) -> Iterator[str]:
        color, shape = MARKS[name]
        points = [(self.x(w), self.y(v)) for w, v in zip(self.windows, self.values(name))]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline class="{color}" points="{path}"/>'
        for x, y in points:
            yield _mark(shape, color, x, y)


def write(found: Mapping[str, Mapping[str, Figures]], folder: Path = FOLDER) -> None:
    """A figure of every query: what it costs in the operators, through Spark, and what it holds."""
    for query, alone in found["in the operators"].items():
        outside = found["through Spark"].get(query)
        panels = [(name, alone) for name in measures(alone) if name != "state rows"]
        panels += [(name, outside) for name in measures(outside)[:1]] if outside else []
        name = query.replace(",", "").replace(" ", "-")
        target = folder / f"strategies-{name}.svg"
        target.write_text(draw(f"Query {query}", panels))
        print(f"written to {target}")


def draw(title: str, panels: list[tuple[str, Figures]]) -> str:
    """A panel for everything that was measured, a line for every strategy."""
    figures, width = panels[0][1], 2 * LEFT + len(panels) * (PANEL + GAP) - GAP
    parts = [f'<text class="title" x="{LEFT}" y="26">{title}</text>']
    x = LEFT
    for name in strategies(figures):
        color, shape = MARKS[name]
        parts += [_mark(shape, color, x + 5, 45), f'<text x="{x + 16}" y="49">{name}</text>']
        x += 40 + 8 * len(name)
    for number, (name, given) in enumerate(panels):
        parts += Panel(LEFT + number * (PANEL + GAP), name, given).parts()
    place = f'x="{width // 2}" y="{HEIGHT - 8}" text-anchor="middle"'
    parts.append(f"<text {place}>window, in units of time</text>")
    body = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        f'width="{width}" height="{HEIGHT}">\n  <style>{STYLE}  </style>\n'
        f'  <rect class="ground" width="{width}" height="{HEIGHT}"/>\n  {body}\n</svg>\n'
    )


def strategies(figures: Figures) -> list[str]:
    return list(next(iter(figures.values())))


def measures(figures: Figures) -> list[str]:
    return list(next(iter(next(iter(figures.values())).values())))


def _short(number: int) -> str:
    """A round number in few letters: 20k, 1M."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size and number % size == 0:
            return f"{number // size}{letter}"
    return str(number)


def _mark(shape: str, color: str, x: float, y: float) -> str:
    match shape:
        case "circle":
            return f'<circle class="{color}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        case "square":
            return (
                f'<rect class="{color}" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"/>'
            )
        case "triangle":
            return f'<path class="{color}" d="M{x:.1f} {y - 5:.1f} l5 9 h-10 Z"/>'
        case "bar":
            return f'<path class="{color}" d="M{x - 5:.1f} {y - 1.5:.1f} h10 l0 3 h-10 Z"/>'
    return f'<path class="{color}" d="M{x:.1f} {y - 5:.1f} l5 5 l-5 5 l-5 -5 Z"/>'


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.figures")
    parser.add_argument("--results", type=Path, default=Path("bench-out/results.json"))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    write(json.loads(options.results.read_text())["strategies"], options.folder)


if __name__ == "__main__":
    main()
