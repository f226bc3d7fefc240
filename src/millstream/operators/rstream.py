"""Rstream: a whole relation as a stream, at every active instant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Columns
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Distribution, Node, Pairs, Step
from millstream.algebra.points import Points
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.operators.to_stream import as_elements, compact, settle
from millstream.state.chunks import Log, State

MANY_CHUNKS = 32
"""So many steps in which nothing is emitted leave the content as it was written."""


@dataclass(frozen=True, eq=False)
class Rstream(Node):
    """`Rstream(R)`: all of R(τ), at every active instant of its query.

    Active are the elements of `points`, which every bucket has; the multiples of periods (`every`);
    and, if the query `begins` with the rows of a table, its first instant. The points are of the
    windows and tables as they stand in FROM: they hold each instant at which R changes, and do not
    depend on what rules make of R. Where R is empty, nothing is emitted, and no multiple counted.
    State: the content of R. Cost: the content at every active instant, which is the output.
    """

    is_stream: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]
    follows_content: ClassVar[bool] = True
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("content", "rows of the relation", Structure.LIST, Extent.ROWS),
    )

    every: tuple[Points, ...]
    begins: bool
    input: Node
    points: Node | None = None
    since: tuple[str, ...] = ()

    def lives(self, given: Lifetime, points: Lifetime | None = None) -> Lifetime:
        return elements()

    @property
    def required_distribution(self) -> Distribution:
        """A row must lie where the one lies that retracts it."""
        return None if self.input.never_retracts else tuple(self.input_schema.names)

    @property
    def join_keys(self) -> Pairs:
        """The points are everywhere."""
        return None if self.points is None else ()

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted,) if self.points is None else (wanted, frozenset())

    @property
    def words(self) -> str:
        every = " or ".join(points.words(self.time_domain) for points in self.every)
        begins = " begins" if self.begins else ""
        since = f" since {', '.join(map(name_text, self.since))}" if self.since else ""
        return f"{every}{begins}{since}".strip()

    def step(self, state: State, changes: Changes, *given: Any) -> Step:
        *points, span = given
        log: Log = state.get("content", Log()).after(span.start)
        instants = self._computed([*log.all(), changes], span)
        for more in points:
            instants = np.union1d(instants, more.ts)
        if len(instants) == 0 and len(log.chunks) < MANY_CHUNKS:
            return {"content": log.append(changes, changes.exp)}, Changes.empty(self.schema)
        rows = Changes.concat([*log.all(), changes], self.schema)
        found = settle(_expand(rows, instants))
        rest = compact(rows.keep(rows.exp > span.end))
        return {"content": Log().append(rest, rest.exp)}, as_elements(found)

    def _computed(self, parts: list[Changes], span: Span) -> np.ndarray:
        """The points that no row brings, those at which there are rows."""
        found = [np.zeros(0, np.int64)]
        if self.every:
            stretches = _occupied(parts, span)
            found += [_multiples(points, *stretches) for points in self.every]
        if self.begins and span.begin is not None and span.start < span.begin <= span.end:
            found.append(np.array([span.begin], np.int64))
        return np.unique(np.concatenate(found))


def _occupied(parts: list[Changes], span: Span) -> tuple[np.ndarray, np.ndarray]:
    """The stretches of a span in which a relation is not empty: first and last instants."""
    enter = np.concatenate([np.clip(part.ts, span.start + 1, span.end + 1) for part in parts])
    leave = np.concatenate([np.clip(part.exp, span.start + 1, span.end + 1) for part in parts])
    weights = np.concatenate([part.weight for part in parts])
    ends, place = np.unique(np.concatenate([enter, leave]), return_inverse=True)
    rows = np.cumsum(np.bincount(place, weights=np.concatenate([weights, -weights])))
    there = np.flatnonzero(rows > 0)
    return ends[there], ends[there + 1] - 1


def _multiples(points: Points, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The points in stretches of time, each from `first` up to and including `last`.

    >>> _multiples(Points.every(10, 3, 1), np.array([0, 30]), np.array([13, 32])).tolist()
    [3, 13]
    """
    assert points.period is not None, "windows slide by one length"
    start = points.from_on(first)
    counts = np.maximum((last - start) // points.period + 1, 0)
    turn = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(start, counts) + turn * points.period


def _expand(rows: Changes, instants: np.ndarray) -> Changes:
    """A copy of every row for each of the instants at which it is present."""
    first = np.searchsorted(instants, rows.ts)
    last = np.searchsorted(instants, rows.exp)
    times = np.maximum(last - first, 0)
    index = np.repeat(np.arange(len(rows)), times)
    offset = np.arange(len(index)) - np.repeat(np.cumsum(times) - times, times)
    return replace(rows.take(index), ts=instants[np.repeat(first, times) + offset])
