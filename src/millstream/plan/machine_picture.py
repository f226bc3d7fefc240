"""The machines of patterns as a picture: SVG, states one below the other, edges as arcs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from millstream.patterns.machine import MATCH, START, Edge, Machine, State
from millstream.plan.machine_text import Shown, below_states
from millstream.plan.picture import DARK, LEAST_WIDTH, LIGHT, MARGIN, SHAPES, ground_style, plain

WIDTH, LINE, LETTER = 380.0, 52, 6.7
"""How wide a state is, and how many letters of its words stand in a line."""

BETWEEN, ROUND, LANE = 34.0, 17.0, 24.0
"""The distance of two states, how large those without words are, and that of two arcs."""

HEAD = 62.0

LIGHT_EDGE, DARK_EDGE = "#0072b2", "#56b4e9"


@dataclass(frozen=True)
class Place:
    """A state in a picture: the upper edge of its box, its height and its lines."""

    state: State
    y: float
    height: float
    lines: tuple[str, ...]

    @property
    def is_round(self) -> bool:
        return self.state.name in (START, MATCH)

    @property
    def half(self) -> float:
        """How far it reaches to each side."""
        return ROUND if self.is_round else WIDTH / 2

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True)
class Arc:
    """An edge beside the states: it leaves at a height and comes in at another, `lane` tells how
    far out it goes; to the right if it goes on, to the left if it goes back."""

    edge: Edge
    order: int
    lane: int
    right: bool


def machine_picture(titled: Sequence[tuple[str, str, Iterable[Shown]]]) -> str:
    """One SVG of the patterns of queries, each with its name and its text, one below the other.

    Every state is a box with the conditions of its rows; edges that are tried one after the other
    are numbered. It follows the light or dark scheme of whoever looks at it.
    """
    parts, y, width = list[str](), MARGIN, LEAST_WIDTH
    for title, caption, patterns in titled:
        parts.append(_heading(title, caption, y))
        y += HEAD
        for pattern in patterns:
            drawn, wide, high = _drawn(pattern, y)
            parts.append(drawn)
            y, width = y + high + 2 * MARGIN, max(width, wide)
    size = f'viewBox="0 0 {width:.0f} {y:.0f}" width="{width:.0f}" height="{y:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    names = plain(", ".join(title for title, *_ in titled))
    ground = f'<rect class="ground" width="{width:.0f}" height="{y:.0f}"/>'
    title = f"<title>Machines of {names}</title>"
    return "\n".join([head, title, f"<style>{_style()}</style>", ground, *parts, "</svg>"]) + "\n"


def _style() -> str:
    lines = [
        ".edge path { stroke-width: 1.8; }",
        ".edge text { font-size: 10px; font-weight: bold; text-anchor: middle; }",
        ".ring { fill: none; }",
        ".end { text-anchor: end; }",
        *_painted(LIGHT, LIGHT_EDGE, "#ffffff"),
    ]
    dark = [*_painted(DARK, DARK_EDGE, DARK[0])]
    seen_in_the_dark = "@media (prefers-color-scheme: dark) {"
    return "\n".join([SHAPES, *lines, seen_in_the_dark, *dark, "}"])


def _painted(colours: tuple[str, ...], edge: str, letters: str) -> list[str]:
    return [
        *ground_style(colours),
        f".ring {{ stroke: {colours[2]}; }}",
        f".edge path {{ stroke: {edge}; }} .edge polygon, .edge rect {{ fill: {edge}; }} "
        f".edge text {{ fill: {letters}; }}",
    ]


def _heading(title: str, caption: str, y: float) -> str:
    words = textwrap.shorten(" ".join(caption.split()), 94, placeholder=" …")
    return (
        f'<text class="title" x="{MARGIN:g}" y="{y + 12:g}">{plain(title)}</text>'
        f'<text class="words" x="{MARGIN:g}" y="{y + 32:g}">{plain(words)}'
        f"<title>{plain(caption)}</title></text>"
    )


def _drawn(pattern: Shown, top: float) -> tuple[str, float, float]:
    """One pattern from a height on; how wide and how high it is."""
    places = _places(pattern.machine)
    arcs = _arcs(pattern.machine)
    lanes = [max((a.lane for a in arcs if a.right is right), default=0) for right in (False, True)]
    middle = MARGIN + LANE * lanes[0] + 14 + WIDTH / 2
    high = places[-1].y + places[-1].height + 24
    table = list(below_states(pattern))
    wide = max(middle + WIDTH / 2 + LANE * lanes[1] + 26, 24 + _width([pattern.title]))
    rows = [
        f'<text class="name" x="{MARGIN:g}" y="{top:g}">{plain(pattern.title)}</text>',
        f'<g transform="translate({middle:g} {top + 16:g})">',
        *(_edge(arc, places) for arc in arcs),
        *_straight(pattern.machine, places),
        *map(_boxed, places),
        "</g>",
    ]
    for i, line in enumerate(table):
        at = top + high + 34 + 15 * i
        rows.append(f'<text class="words" x="{MARGIN:g}" y="{at:g}">{_aligned(line)}</text>')
    return "\n".join(rows), max(wide, _width(table)) + MARGIN, high + 34 + 15 * len(table)


def _aligned(line: str) -> str:
    """With blanks that stay, so that columns are below each other."""
    return plain(line).replace(" ", "\N{NO-BREAK SPACE}")


def _width(lines: Iterable[str]) -> float:
    return max((len(line) * LETTER for line in lines), default=0.0) + 2 * MARGIN


def _places(machine: Machine) -> list[Place]:
    found, y = list[Place](), 0.0
    for _, state in machine.numbered:
        lines = tuple(_lines(state))
        height = 2 * ROUND if state.name in (START, MATCH) else 32.0 + 15 * len(lines)
        found.append(Place(state, y, height, lines))
        y += height + BETWEEN
    return found


def _lines(state: State) -> Iterator[str]:
    """The words of a state, wrapped."""
    if state.name in (START, MATCH):
        return
    words = list(state.asks) or ["any tuple"]
    words += [f"at its end: {condition}" for condition in state.ends]
    words += [f"counting {tally}" for tally in state.counts]
    for line in words:
        yield from textwrap.wrap(line, LINE, subsequent_indent="  ")


def _arcs(machine: Machine) -> list[Arc]:
    """All edges but those to the next state, each in the first lane that is free along its way."""
    found, taken = list[Arc](), {False: list[list[tuple[int, int]]](), True: list()}
    edges = [(e, i) for n, _ in machine.numbered for i, e in _ordered(machine, n)]
    edges.sort(key=lambda one: abs(one[0].target - one[0].source))
    for edge, order in edges:
        if edge.target == edge.source + 1:
            continue
        right = edge.target > edge.source
        low, high = sorted((edge.source, edge.target))
        lanes = taken[right]
        free = (k for k, ways in enumerate(lanes) if all(high < a or b < low for a, b in ways))
        lane = next(free, len(lanes))
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append((low, high))
        found.append(Arc(edge, order, lane + 1, right))
    return found


def _ordered(machine: Machine, number: int) -> list[tuple[int, Edge]]:
    """The edges of a state with their numbers, 0 where there is one only."""
    edges = machine.after(number)
    return [(i if len(edges) > 1 else 0, edge) for i, edge in enumerate(edges, 1)]


def _straight(machine: Machine, places: Sequence[Place]) -> Iterator[str]:
    """The edges to the next state."""
    for number, _ in machine.numbered:
        for order, edge in _ordered(machine, number):
            if edge.target != number + 1:
                continue
            begin = places[number].y + places[number].height
            end = places[edge.target].y
            tip = f"0,{end:g} -5,{end - 10:g} 5,{end - 10:g}"
            yield (
                f'<g class="edge">{_title(edge, places)}<path d="M0 {begin:g} V{end - 9:g}"/>'
                f'<polygon points="{tip}"/>{_pill(edge, order, 0, (begin + end) / 2 - 3)}</g>'
            )


def _edge(arc: Arc, places: Sequence[Place]) -> str:
    edge, side = arc.edge, 1 if arc.right else -1
    source, target = places[edge.source], places[edge.target]
    y = source.middle + (0 if arc.right else 10)
    into = target.middle - (8 if arc.right else 10)
    begin, end = side * source.half, side * target.half
    out = side * (WIDTH / 2 + LANE * arc.lane)
    bend = min(12.0, abs(into - y) / 2) * (1 if into > y else -1)
    way = (
        f"M{begin:g} {y:g} H{out - side * abs(bend):g} Q{out:g} {y:g} {out:g} {y + bend:g} "
        f"V{into - bend:g} Q{out:g} {into:g} {out - side * abs(bend):g} {into:g} "
        f"H{end + side * 9:g}"
    )
    tip = f"{end:g},{into:g} {end + side * 10:g},{into - 5:g} {end + side * 10:g},{into + 5:g}"
    pill = _pill(edge, arc.order, out, (y + into) / 2)
    return (
        f'<g class="edge">{_title(edge, places)}<path d="{way}"/>'
        f'<polygon points="{tip}"/>{pill}</g>'
    )


def _title(edge: Edge, places: Sequence[Place]) -> str:
    names = [places[end].state.name for end in (edge.source, edge.target)]
    return f"<title>{plain(f'{edge.source} {names[0]} to {edge.target} {names[1]}')}</title>"


def _pill(edge: Edge, order: int, x: float, y: float) -> str:
    words = " ".join(filter(None, (str(order or ""), edge.anchors)))
    if not words:
        return ""
    half = 4.0 + 3.4 * len(words)
    return (
        f'<rect x="{x - half:g}" y="{y - 8:g}" width="{2 * half:g}" height="16" rx="8"/>'
        f'<text x="{x:g}" y="{y + 3.6:g}">{plain(words)}</text>'
    )


def _boxed(place: Place) -> str:
    if place.is_round:
        return _round(place)
    rows = [
        f'<rect class="box" x="{-WIDTH / 2:g}" y="{place.y:g}" width="{WIDTH:g}" '
        f'height="{place.height:g}" rx="9"/>',
        f'<text class="name middle" x="0" y="{place.y + 20:g}">{plain(place.state.name)}</text>',
    ]
    for i, line in enumerate(place.lines):
        at = place.y + 37 + 15 * i
        rows.append(f'<text class="words middle" x="0" y="{at:g}">{plain(line)}</text>')
    return "\n".join(rows)


def _round(place: Place) -> str:
    """The start is a circle, the match one with a ring; their names stand beside."""
    rows = [f'<circle class="box" cx="0" cy="{place.middle:g}" r="{ROUND:g}"/>']
    if place.state.name == MATCH:
        rows.append(f'<circle class="ring" cx="0" cy="{place.middle:g}" r="{ROUND - 4:g}"/>')
    side = ROUND + 8 if place.state.name == START else -ROUND - 8
    look = "name" if place.state.name == START else "name end"
    rows.append(
        f'<text class="{look}" x="{side:g}" y="{place.middle + 4:g}">{place.state.name}</text>'
    )
    return "\n".join(rows)
