"""Active: the instants at which something enters or leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, no_rows
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.identity import identity_of_version
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import BROADCAST, Distribution, Node, Step
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.columns.keys import factorize
from millstream.operators.instants import NOTHING
from millstream.state.chunks import Log, State
from millstream.state.events import Events, add_up, unfold_all


@dataclass(frozen=True, eq=False)
class Active(Node):
    """The instants at which a row of windows or tables enters or leaves: points, without columns.

    Law: an element at τ, once, exactly when some tuple of the input enters or leaves at τ.
    Rows that leave at one instant come to as many as were emitted with that end, less those that
    were retracted before it; so it is enough to add up weights, and no row is kept.
    State: the instants ahead at which rows leave, with how many. Cost: the batch and what falls
    due, in every bucket.
    """

    is_stream: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]
    reach: ClassVar[int] = 1  # type: ignore[assignment]
    """A row that leaves was there at the instant before."""
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("due", "instants at which rows leave", Structure.DUE, Extent.ENDING),
    )

    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return NOTHING

    def lives(self, given: Lifetime) -> Lifetime:
        return elements()

    @property
    def arrival(self) -> Arrival:
        """Where tuples that stay may be emitted anew, they are known by their identities."""
        return Arrival.IGNORED if self.input.is_consolidated else Arrival.USED

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        return (frozenset(),)

    @property
    def required_distribution(self) -> Distribution:
        """Every bucket finds the points itself, unless all rows lie in one."""
        return BROADCAST

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        layout, bare = self.state_layout, changes.with_rows(no_rows(NOTHING))
        if self.input.is_consolidated:
            due, events = unfold_all(state.get("due", Log()), _counted(bare), span, layout)
            instants = _changing(events)
        else:
            due, events = unfold_all(state.get("due", Log()), bare, span, layout)
            every = events.merged()
            instants = np.unique(every.ts[add_up(every, every.ts)[0]])
        points = Changes.elements(no_rows(NOTHING), instants, identity_of_version(instants))
        return {"due": due}, points


def _changing(events: Events) -> np.ndarray:
    """The instants of rows that enter, and those at which more leave than had been retracted."""
    ends, place = np.unique(events.ends.exp, return_inverse=True)
    left = np.bincount(place, weights=events.ends.weight, minlength=len(ends)) != 0
    return np.union1d(events.starts.ts, ends[left])


def _counted(rows: Changes) -> Changes:
    """Rows that enter and leave together as one, with the sum of their weights."""
    codes, first = factorize([pa.array(rows.ts), pa.array(rows.exp)], len(rows))
    sums = np.bincount(codes, weights=rows.weight, minlength=len(first)).astype(np.int64)
    return replace(rows.take(first), weight=sums, seq=np.zeros(len(first), np.int64))
