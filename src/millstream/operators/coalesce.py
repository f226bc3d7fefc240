"""Coalesce: equal rows that overlap in time, as one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.lifetime import Lifetime
from millstream.algebra.node import Node, Step
from millstream.algebra.pattern import weak
from millstream.algebra.time import Span
from millstream.columns.keys import factorize
from millstream.columns.native import native
from millstream.columns.order import stable_order
from millstream.state.chunks import State

FEW = 16_384
"""Up to so many rows are sent as they are: to look for equal ones costs as much as it saves."""

SAMPLE = 8_192
"""So many rows show whether there is anything to gain."""

WORTH = 0.9
"""Below this share of rows left it pays."""


@dataclass(frozen=True, eq=False)
class Coalesce(Node):
    """Rows of equal values whose intervals touch, as one row from the first start to the last end.

    Law: a value is present exactly when it was; its number of copies is lost, so a Distinct stands
    above. Only rows that come in one step are merged; no state. It is idle where the strategy makes
    no use of ends.
    """

    follows_content: ClassVar[bool] = True

    stateless: ClassVar[bool] = True
    uses_ends: ClassVar[bool] = True

    input: Node

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    def lives(self, given: Lifetime) -> Lifetime:
        label = weak((given.pattern,), "a value leaves with the last of its copies")
        return replace(given, label=label, consolidated=False)

    @property
    def value_limit(self) -> int | None:  # type: ignore[override]
        return self.input.value_limit

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if not self.state_layout.uses_ends or len(changes) <= FEW:
            return state, changes
        if _share(changes.slice(0, SAMPLE)) > WORTH:
            return state, changes
        return state, _coalesced(changes)


def _share(changes: Changes) -> float:
    return len(_coalesced(changes)) / len(changes)


def _coalesced(changes: Changes) -> Changes:
    if len(changes) == 0 or (changes.weight < 1).any():
        return changes
    order = stable_order(changes.ts)
    order = np.arange(len(changes)) if order is None else order
    codes, first = factorize(changes.rows.columns, len(changes))
    index, exp = _touching(codes, order, changes.ts, changes.exp, len(first))
    return replace(changes.take(index), exp=exp, weight=np.ones(len(index), np.int64))


@native
def _touching(codes, order, ts, exp, count):  # type: ignore[no-untyped-def]
    """The first row of every stretch in which a value is present, and the stretch's end."""
    index = np.empty(len(codes), np.int64)
    until = np.empty(len(codes), np.int64)
    last = np.full(max(count, 1), -1, np.int64)
    n = 0
    for i in order:
        r = last[codes[i]]
        if r >= 0 and ts[i] <= until[r]:
            until[r] = max(until[r], exp[i])
        else:
            index[n] = i
            until[n] = exp[i]
            last[codes[i]] = n
            n += 1
    return index[:n].copy(), until[:n].copy()
