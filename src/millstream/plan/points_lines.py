"""Sets of points in plan text: `every 5 minutes`, `every 10 at 0, 3 from 40 until 90`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from millstream.algebra.node import Node
from millstream.algebra.points import FIRST, LAST, Points, patterned, tick_of
from millstream.algebra.remainders import Runs, series_of
from millstream.catalog import Catalog
from millstream.operators import NowView, Sync, Ticks
from millstream.plan.expression_text import Tokens, length_of, unquoted


def points_line(operator: type[Sync] | type[Ticks]) -> Callable[..., Node]:
    """A reader for operators whose words are points."""

    def read(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
        return operator(read_points(tokens, tick_of(below.time_domain)), below)

    return read


def now_view_line(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    """The reader of the clock as a relation."""
    points = read_points(tokens, tick_of(below.time_domain))
    return NowView(points, below, not tokens.has("alone"))


def read_points(tokens: Tokens, tick: int) -> Points:
    """A set of points."""
    if tokens.has("never"):
        return Points.none(tick)
    parts = [_stretch(tokens, tick)]
    while tokens.has("and"):
        parts.append(_stretch(tokens, tick))
    return patterned(parts, tick)


def _stretch(tokens: Tokens, tick: int) -> tuple[int, Runs, int, int]:
    tokens.expect("every")
    every = length_of(tokens) // tick
    runs: Runs = ((0, 0),)
    if tokens.has("at"):
        runs = tuple(run for part in tokens.listed(lambda: _series(tokens, tick)) for run in part)
    first = _instant(tokens, tick) if tokens.has("from") else FIRST
    last = _instant(tokens, tick) if tokens.has("until") else LAST
    return every, runs, first, last


def _series(tokens: Tokens, tick: int) -> Runs:
    first = last = length_of(tokens) // tick
    if tokens.has("to"):
        last = length_of(tokens) // tick
    step = length_of(tokens) // tick if tokens.has("by") else 1
    return series_of(first, last, step)


def _instant(tokens: Tokens, tick: int) -> int:
    text = tokens.take()
    if text[:1] != "'":
        return int(text)
    since = dt.datetime.fromisoformat(unquoted(text)) - dt.datetime(1970, 1, 1)
    return since // dt.timedelta(microseconds=1) // tick
