"""Presence: when a row meets a condition that reads Now, as stretches computed from the row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import Expression
from millstream.algebra.now import Bound, bounds_of, earliest, latest
from millstream.algebra.points import Points
from millstream.algebra.turns import Turn, truth_at, turns_of

MOST_TURNS = 16
"""A condition with more comparisons than this is not solved."""


@dataclass(frozen=True)
class Presence:
    """Cuts rows to the instants at which they meet a condition.

    Law: what a row was at τ it is if the condition is true of it with Now = τ, and else it is gone.
    What is cut away follows from the values of a row alone, so a row that retracts another is cut
    in the same way.
    """

    condition: Expression
    points: Points | None = None
    """Where Now is the last of some points, a stretch begins and ends at the next of them."""

    @staticmethod
    def of(condition: Expression, points: Points | None = None) -> Presence | None:
        """None where it is not seen when the condition holds."""
        turns = turns_of(condition)
        if turns is None or len(turns) > MOST_TURNS:
            return None
        found = Presence(condition, points)
        return None if points is not None and found.bounds is None else found

    @cached_property
    def bounds(self) -> tuple[Bound, ...] | None:
        """The condition, if it is one stretch for every row."""
        return bounds_of(self.condition)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        return turns_of(self.condition) or ()

    @property
    def is_early(self) -> bool:
        """Whether a row that is there meets it at once, or never."""
        return self.bounds is not None and not any(bound.first for bound in self.bounds)

    def cut(self, changes: Changes) -> Changes:
        """The rows at the instants of theirs at which they meet the condition."""
        if not len(changes):
            return changes
        if self.bounds is not None:
            return self._between(changes, self.bounds)
        return self._in_pieces(changes)

    def _between(self, changes: Changes, bounds: tuple[Bound, ...]) -> Changes:
        rows, length = changes.rows, len(changes)
        starts = [self._point(b.instants(rows, length)) for b in bounds if b.first]
        ends = [self._point(b.instants(rows, length)) for b in bounds if not b.first]
        ts = np.maximum(changes.ts, latest(starts, length)) if starts else changes.ts
        exp = np.minimum(changes.exp, earliest(ends, length)) if ends else changes.exp
        return replace(changes, ts=ts, exp=exp).keep(ts < exp)

    def _point(self, instants: np.ndarray) -> np.ndarray:
        return instants if self.points is None else self.points.from_on(instants)

    def _in_pieces(self, changes: Changes) -> Changes:
        """Between two instants at which a part of the condition turns it is the same: it is tested
        once, and rows are there in the stretches where it holds."""
        edges = self._edges(changes)
        parts: list[Changes] = []
        since, there = changes.ts, np.zeros(len(changes), bool)
        for start, after in zip(edges, [*edges[1:], changes.exp]):
            lasts = start < after
            holds = lasts & truth_at(self.condition, changes.rows, np.where(lasts, start, since))[0]
            ended = lasts & there & ~holds
            parts.append(replace(changes, ts=since, exp=start).keep(ended))
            since = np.where(holds & ~there, start, since)
            there = np.where(lasts, holds, there)
        parts.append(replace(changes, ts=since, exp=changes.exp).keep(there))
        return Changes.concat(parts, changes.schema)

    def _edges(self, changes: Changes) -> list[np.ndarray]:
        """For every row its begin, and the instants within it at which something turns."""
        found = [t for turn in self.turns for t in turn.instants(changes.rows, changes.ts)]
        inner = [np.clip(t, changes.ts, changes.exp) for t in found]
        return list(np.sort(np.stack([changes.ts, *inner]), axis=0))
