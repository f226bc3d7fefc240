"""Where the operators of a plan stand in a picture: a tidy tree, the root on top."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

from millstream.algebra.node import Node
from millstream.plan.annotate import shortened

LINE, MOST_LINES = 34, 3
"""Words are wrapped into so many lines of so many letters; the rest is cut."""

LETTER, NAME_LETTER = 6.7, 8.6
"""The widths of a letter of the words and of a name."""

NARROWEST, PADDING = 84.0, 12.0
BESIDE, BETWEEN = 26.0, 58.0
"""The least distance of two boxes beside each other, and of two rows."""

Contour = list[tuple[float, float]]
"""How far a tree reaches to the left and to the right, row by row."""


@dataclass
class Box:
    """One operator in a picture. `mark` numbers a part that comes again, `again` says it does."""

    node: Node
    lines: tuple[str, ...]
    again: bool = False
    mark: int | None = None
    children: list[Box] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def name(self) -> str:
        mark = "" if self.mark is None else f" [{self.mark}]"
        return f"{type(self.node).__name__}{mark}"

    @property
    def width(self) -> float:
        words = max((len(line) for line in self.lines), default=0) * LETTER
        name = len(self.name) * NAME_LETTER
        return max(NARROWEST, words + 2 * PADDING, name + 2 * PADDING)

    @property
    def height(self) -> float:
        return 30.0 + 15.0 * len(self.lines) + (5.0 if self.lines else 0.0)

    @property
    def all(self) -> list[Box]:
        """The box and all below it."""
        return [self, *(box for child in self.children for box in child.all)]


def laid_out(root: Node) -> Box:
    """The boxes of a plan with their places: `x` is the middle of a box, `y` its upper edge.

    Law: no two boxes overlap; a box stands in the middle above its inputs. A part with inputs that
    occurs twice is drawn once, with a number: where it comes again there is only its topmost box.
    """
    top = _box(root, {})
    contour = _spread(top)
    left = min(reach for reach, _ in contour)
    _settle(top, -left, 0, _rows(top))
    return top


def _box(node: Node, drawn: dict[Node, Box]) -> Box:
    first = drawn.get(node) if node.inputs else None
    if first is not None:
        if first.mark is None:
            first.mark = 1 + max((box.mark or 0 for box in drawn.values()), default=0)
        return Box(node, ("as drawn before",), again=True, mark=first.mark)
    drawn[node] = box = Box(node, _wrapped(node.words))
    box.children = [_box(child, drawn) for child in node.inputs]
    return box


def _wrapped(words: str) -> tuple[str, ...]:
    lines = textwrap.wrap(words, LINE)
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], shortened(" ".join(lines[MOST_LINES - 1 :]), LINE)]
    return tuple(lines)


def _spread(box: Box) -> Contour:
    """Give the boxes below their x from the box's own; the contour of the whole."""
    placed: Contour = []
    for child in box.children:
        own = _spread(child)
        shift = max(
            (right + BESIDE - left for (_, right), (left, _) in zip(placed, own)), default=0.0
        )
        child.x = shift
        moved = [(left + shift, right + shift) for left, right in own]
        placed = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(placed, moved)] + (
            moved if len(moved) > len(placed) else placed
        )[min(len(moved), len(placed)) :]
    if box.children:
        middle = (box.children[0].x + box.children[-1].x) / 2
        for child in box.children:
            child.x -= middle
        placed = [(left - middle, right - middle) for left, right in placed]
    return [(-box.width / 2, box.width / 2), *placed]


def _rows(top: Box) -> list[float]:
    """The upper edge of every row: as high as its highest box allows."""
    heights: list[float] = []
    row = [top]
    while row:
        heights.append(max(box.height for box in row))
        row = [child for box in row for child in box.children]
    edges = [0.0]
    for height in heights:
        edges.append(edges[-1] + height + BETWEEN)
    return edges


def _settle(box: Box, x: float, depth: int, rows: list[float]) -> None:
    """Turn distances from the box above into places; boxes of a row have their tops in line."""
    box.x += x
    box.y = rows[depth]
    for child in box.children:
        _settle(child, box.x, depth + 1, rows)
