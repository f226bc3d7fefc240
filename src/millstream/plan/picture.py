"""Plans as pictures: SVG with the edges in the colours of their update patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from millstream.algebra.node import Node
from millstream.algebra.pattern import Label, Pattern
from millstream.plan.annotate import shortened
from millstream.plan.layout import BETWEEN, Box, laid_out

MARGIN, HEAD, LEGEND = 24.0, 66.0, 118.0
LEAST_WIDTH = 720.0
LONGEST_CAPTION = 100


@dataclass(frozen=True)
class Look:
    """How edges of a pattern look: colours on light and dark ground, the letters on them, the line.

    Patterns differ in width and dashes as well, for people who see colours differently.
    """

    light: str
    dark: str
    letters: str
    width: float
    dashes: str = "none"


LOOKS = {
    Pattern.MON: Look("#66737f", "#a3b1bf", "#ffffff", 1.5),
    Pattern.WKS: Look("#0072b2", "#56b4e9", "#ffffff", 2),
    Pattern.WK: Look("#e69f00", "#ffc845", "#1c1300", 2.5),
    Pattern.STR: Look("#b03a00", "#ff7a4d", "#ffffff", 3, "7 3"),
}
LIGHT = "#ffffff", "#f5f8fb", "#8796a5", "#1c2733", "#52616f"
DARK = "#10171f", "#1b2632", "#64778a", "#e8eef4", "#aab8c5"
"""The ground, boxes, their borders, names, and words."""


SHAPES = """
text { font-family: 'DejaVu Sans', Verdana, Helvetica, sans-serif; font-size: 13px; }
.middle { text-anchor: middle; }
.name, .title { font-weight: bold; }
.title { font-size: 15px; }
.words { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 11px; }
.pattern { font-size: 10px; font-weight: bold; text-anchor: middle; }
.box { stroke-width: 1.2; }
.again { stroke-dasharray: 4 3; }
path { fill: none; }"""


@dataclass(frozen=True)
class Drawing:
    """A plan to be drawn, with a title and what stands below it."""

    title: str
    caption: str
    root: Node


def picture(drawings: Sequence[Drawing]) -> str:
    """One SVG of the plans, one below the other, with a legend on top.

    Every edge has its colour, its pattern in letters, and the reason as a tooltip. It follows the
    light or dark scheme of whoever looks at it.
    """
    parts, y, width = [_legend()], LEGEND, LEAST_WIDTH
    for drawing in drawings:
        top = laid_out(drawing.root)
        boxes = top.all
        parts.append(_drawn(drawing, top, y))
        y += HEAD + BETWEEN + max(box.y + box.height for box in boxes) + 2 * MARGIN
        width = max(width, max(box.x + box.width / 2 for box in boxes) + 2 * MARGIN)
    size = f'viewBox="0 0 {width:.0f} {y:.0f}" width="{width:.0f}" height="{y:.0f}"'
    ground = f'<rect class="ground" width="{width:.0f}" height="{y:.0f}"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = f"<title>Plans of {plain(', '.join(d.title for d in drawings))}</title>"
    return "\n".join([head, title, f"<style>{_style()}</style>", ground, *parts, "</svg>"]) + "\n"


def _style() -> str:
    light = ground_style(LIGHT) + [_painted(p, k.light, k.letters) for p, k in LOOKS.items()]
    dark = ground_style(DARK) + [_painted(p, k.dark, DARK[0]) for p, k in LOOKS.items()]
    lines = [
        f".{p.name} path {{ stroke-width: {k.width}; stroke-dasharray: {k.dashes}; }}"
        for p, k in LOOKS.items()
    ]
    seen_in_the_dark = "@media (prefers-color-scheme: dark) {"
    return "\n".join([SHAPES, *lines, *light, seen_in_the_dark, *dark, "}"])


def ground_style(colours: tuple[str, ...]) -> list[str]:
    """The colours of the ground, of boxes and of words."""
    ground, box, border, name, words = colours
    return [
        f".ground {{ fill: {ground}; }}",
        f".box {{ fill: {box}; stroke: {border}; }}",
        f".name, .title {{ fill: {name}; }}",
        f".words, .caption {{ fill: {words}; }}",
    ]


def _painted(pattern: Pattern, colour: str, letters: str) -> str:
    mark = f".{pattern.name}"
    return (
        f"{mark} path {{ stroke: {colour}; }} {mark} rect, {mark} polygon {{ fill: {colour}; }} "
        f"{mark} .pattern {{ fill: {letters}; }}"
    )


def _legend() -> str:
    rows = []
    for i, pattern in enumerate(Pattern):
        y = MARGIN + 6 + 22 * i
        rows.append(
            f'<g class="{pattern.name}">'
            f'<path d="M{MARGIN:g} {y:g} H{MARGIN + 44:g}"/>{_pill(pattern, MARGIN + 66, y)}</g>'
            f'<text class="caption" x="{MARGIN + 92:g}" y="{y + 4.5:g}">{pattern.words}</text>'
        )
    return "\n".join(rows)


def _drawn(drawing: Drawing, top: Box, y: float) -> str:
    """The heading, the answer, the edges and the boxes of one plan."""
    caption = shortened(" ".join(drawing.caption.split()), LONGEST_CAPTION)
    rows = [
        f'<text class="title" x="{MARGIN:g}" y="{y + 12:g}">{plain(drawing.title)}</text>',
        f'<text class="words" x="{MARGIN:g}" y="{y + 32:g}">{plain(caption)}'
        f"<title>{plain(drawing.caption)}</title></text>",
        f'<g transform="translate({MARGIN:g} {y + HEAD:g})">',
        f'<text class="name middle" x="{top.x:g}" y="-6">answer</text>',
    ]
    rows.append(_edge(top.node.label, top.x, BETWEEN, top.x, 0))
    for box in top.all:
        for i, child in enumerate(box.children):
            into = box.x + (i - (len(box.children) - 1) / 2) * min(60.0, box.width / 2)
            bottom = box.y + box.height + BETWEEN
            rows.append(_edge(child.node.label, child.x, child.y + BETWEEN, into, bottom))
    rows += [_boxed(box) for box in top.all]
    return "\n".join([*rows, "</g>"])


def _edge(label: Label, x: float, y: float, into: float, bottom: float) -> str:
    """From the upper edge of a box at (x, y) to the lower edge of the one above it."""
    bend, head = y - 30, bottom + 9
    way = (
        f"V{head:g}"
        if abs(x - into) < 1
        else (f"V{bend:g} C{x:g} {(bend + head) / 2 - 4:g} {into:g} {bend - 2:g} {into:g} {head:g}")
    )
    tip = f"{into:g},{bottom + 1:g} {into - 5:g},{bottom + 11:g} {into + 5:g},{bottom + 11:g}"
    return (
        f'<g class="{label.pattern.name}"><title>{plain(f"{label.pattern.name}: {label}")}</title>'
        f'<path d="M{x:g} {y:g} {way}"/><polygon points="{tip}"/>'
        f"{_pill(label.pattern, x, y - 18)}</g>"
    )


def _pill(pattern: Pattern, x: float, y: float) -> str:
    return (
        f'<rect x="{x - 17:g}" y="{y - 8:g}" width="34" height="16" rx="8"/>'
        f'<text class="pattern" x="{x:g}" y="{y + 3.7:g}">{pattern.name}</text>'
    )


def _boxed(box: Box) -> str:
    left, y = box.x - box.width / 2, box.y + BETWEEN
    mark = "box again" if box.again else "box"
    whole = f"{type(box.node).__name__} {box.node.words}".rstrip()
    rows = [
        f"<g><title>{plain(whole)}</title>",
        f'<rect class="{mark}" x="{left:g}" y="{y:g}" width="{box.width:g}" '
        f'height="{box.height:g}" rx="7"/>',
        f'<text class="name middle" x="{box.x:g}" y="{y + 20:g}">{box.name}</text>',
    ]
    for i, line in enumerate(box.lines):
        rows.append(
            f'<text class="words middle" x="{box.x:g}" y="{y + 37 + 15 * i:g}">{plain(line)}</text>'
        )
    return "\n".join([*rows, "</g>"])


def plain(text: str) -> str:
    """Any text as SVG: what has a meaning there is escaped, what cannot stand there is a blank."""
    return escape("".join(c if c.isprintable() else " " for c in text))
