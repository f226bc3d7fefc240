"""Istream, Dstream, Elements: from relations back to streams, row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Columns
from millstream.algebra.identity import identity_of_elements
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.state_parts import StatePart, ending
from millstream.algebra.time import Span
from millstream.columns.order import is_among
from millstream.state.chunks import Log, State
from millstream.state.events import net, summed, unfold


@dataclass(frozen=True, eq=False)
class Differences(Node):
    """What Istream and Dstream share: the bag difference between an instant and the one before.

    State: the rows whose expiration lies ahead. Cost: the batch and what falls due.
    """

    is_stream: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]
    reach: ClassVar[int] = 1  # type: ignore[assignment]
    """The instant before counts, too."""
    state_parts: ClassVar[tuple[StatePart, ...]] = (ending(),)
    sign: ClassVar[int]

    input: Node

    def lives(self, given: Lifetime) -> Lifetime:
        return elements()

    @property
    def required_distribution(self) -> Distribution:
        return tuple(self.input_schema.names)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        due, events = unfold(state.get("due", Log()), changes, span, self.state_layout)
        every = events.merged()
        sure, doubtful = self._sort_apart(every)
        sure = sure.take(np.repeat(np.arange(len(sure)), np.abs(sure.weight)))
        return {"due": due}, as_elements(
            Changes.concat([sure, self._net(doubtful)], self.input_schema)
        )

    def _sort_apart(self, every: Changes) -> tuple[Changes, Changes]:
        """Events emitted as they are, and those at instants where others could undo them."""
        mine = every.weight * self.sign > 0
        met = is_among(every.ts, np.sort(every.ts[~mine])) & mine
        if not met.any():
            return every.keep(mine), every.slice(0, 0)
        doubtful = is_among(every.ts, np.sort(every.ts[met]))
        return every.keep(mine & ~doubtful), every.keep(doubtful)

    def _net(self, every: Changes) -> Changes:
        """What is left of events after those of the other sign: first of the same tuple, then of
        tuples with the same values."""
        if not self.input.is_consolidated:
            every = summed(every, every.ts)
        every = every.take(np.argsort(every.seq, kind="stable"))
        codes, sums, _ = net(every, self.schema.names)
        copies = np.maximum(sums * self.sign, 0)
        candidates = np.flatnonzero((every.weight * self.sign > 0) & (copies[codes] > 0))
        return every.take(_first_of_each(codes, candidates, copies, np.abs(every.weight)))


@dataclass(frozen=True, eq=False)
class Istream(Differences):
    """`Istream(R)`: the rows that enter, in R(τ) and not in R(τ−1), as a bag."""

    follows_content: ClassVar[bool] = True

    sign: ClassVar[int] = 1


@dataclass(frozen=True, eq=False)
class Dstream(Differences):
    """`Dstream(R)`: the rows that leave, in R(τ−1) and not in R(τ), as a bag."""

    follows_content: ClassVar[bool] = True

    sign: ClassVar[int] = -1


@dataclass(frozen=True, eq=False)
class Elements(Node):
    """The rows of a relation whose rows are present at one instant only, as a stream.

    Law: equal to Rstream over Now, without looking at the relation as a whole. No state.
    """

    is_stream: ClassVar[bool] = True
    stateless: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]

    input: Node

    def lives(self, given: Lifetime) -> Lifetime:
        return elements()

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (wanted,)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        return state, changes


def as_elements(found: Changes) -> Changes:
    """The rows of a relation at the instants they begin at, as the elements of a stream."""
    return Changes.elements(found.rows, found.ts, identity_of_elements(found.seq, found.ts))


def _first_of_each(
    codes: np.ndarray, candidates: np.ndarray, copies: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Of the candidates with one code, the first ones, as many as there are copies."""
    candidates = np.repeat(candidates, weights[candidates])
    order = np.argsort(codes[candidates], kind="stable")
    sorted_codes = codes[candidates][order]
    starts = np.searchsorted(sorted_codes, sorted_codes)
    rank = np.arange(len(order)) - starts
    return candidates[order[rank < copies[sorted_codes]]]


def settle(rows: Changes) -> Changes:
    """Let rows of weight −1 cancel equal rows at the same instant; what is left has weight 1."""
    if (rows.weight == 1).all():
        return rows
    left = summed(rows, rows.ts)
    copies = left.take(np.repeat(np.arange(len(left)), np.maximum(left.weight, 0)))
    return replace(copies, weight=np.ones(len(copies), np.int64))


def compact(rows: Changes) -> Changes:
    """The same content in fewer rows, from the last of their starts on: rows that left early
    go, with those that retract them."""
    return rows if (rows.weight == 1).all() else summed(rows, rows.exp)
