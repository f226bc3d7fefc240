"""Partial: the first phase of an aggregation, rows that come and go together put into a few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.aggregates.aggregate import Keeps
from millstream.aggregates.call import AggregateCall
from millstream.algebra.changes import Changes
from millstream.algebra.expressions import name_text
from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import Node, Step
from millstream.algebra.time import Span
from millstream.columns.bundles import (
    Bundles,
    Steps,
    same_count,
    same_ends,
    same_sum,
    same_sum_and_ends,
)
from millstream.columns.keys import as_words, factorize, validity
from millstream.state.chunks import State

WORTH = 4
"""Rows are put together when at least this many come and go together, on average."""

SAMPLE = 8192
"""So many rows show whether it pays."""


@dataclass(frozen=True, eq=False)
class Partial(Node):
    """Rows of one group that enter and leave together, made fewer before they are sent elsewhere.

    Of every other column it keeps what the calls ask for: how many values there are, their sum, the
    least and the greatest of them; the values may be others. Five rows with 1, 2, 4, 8 and 11 have
    the sum of one row with 6 and weight 1, and one with 5 and weight 4.
    Law: every group comes to the same counts, sums, averages, minima and maxima, and changes at the
    same instants. Whether rows are put together is decided batch by batch, by what it brings.
    No state. Cost: the batch.
    """

    follows_content: ClassVar[bool] = True

    stateless: ClassVar[bool] = True

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    input: Node

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    def lives(self, given: Lifetime) -> Lifetime:
        return passed_on(given)

    @property
    def words(self) -> str:
        calls = ", ".join(str(call) for call in self.calls)
        keys = ", ".join(name_text(name) for name in self.keys)
        return f"{keys}: {calls}" if keys else calls

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        bundles = self._bundles(changes)
        if bundles is None:
            return state, changes
        steps: dict[str, Steps] = {}
        for name in self.schema.names:
            if name not in self.keys:
                found = self._steps(name, changes.rows.column(name), bundles)
                if found is None:
                    return state, changes
                steps[name] = found
        bundle, place, width = bundles.cut(list(steps.values()))
        if len(bundle) * 2 > len(changes):
            return state, changes
        first = bundles.first[bundle]
        columns = [
            self._column(name, changes.rows.column(name), steps.get(name), bundle, place, first)
            for name in self.schema.names
        ]
        rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        weight = width * np.sign(changes.weight[first])
        times = changes.ts[first], changes.exp[first]
        return state, Changes(rows, *times, weight, changes.seq[first])

    def _bundles(self, changes: Changes) -> Bundles | None:
        """Rows that come and go together, if they are many. Only neighbours are looked at."""
        if not self._pays(changes.slice(0, SAMPLE)) or not self._pays(changes):
            return None
        weights = np.abs(changes.weight)
        fresh = _beginnings(changes)
        if not self.keys:
            return Bundles.of(np.arange(len(changes)), np.flatnonzero(fresh), weights)
        codes, _ = self._codes(changes, fresh)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        return Bundles.of(order, starts, weights)

    def _pays(self, changes: Changes) -> bool:
        fresh = _beginnings(changes)
        bundles = int(np.count_nonzero(fresh))
        if self.keys and 0 < bundles * WORTH <= len(changes) <= SAMPLE:
            bundles = len(self._codes(changes, fresh)[1])
        return 0 < bundles * WORTH <= len(changes)

    def _codes(self, changes: Changes, fresh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        keys = [changes.rows.column(name) for name in self.keys]
        return factorize([*keys, pa.array(np.cumsum(fresh))], len(changes))

    def _asked(self, name: str) -> frozenset[Keeps]:
        """What the aggregates of a column ask for."""
        asked = (c.aggregate.combines for c in self.calls if c.arguments == (name,))
        return frozenset(combining.keeps for combining in asked if combining is not None)

    def _steps(self, name: str, column: pa.Array, bundles: Bundles) -> Steps | None:
        """What a column comes to in every bundle; None when a sum might be too large."""
        asked, valid = self._asked(name), validity(column)
        count = bundles.counts(valid)
        if asked <= {Keeps.COUNT}:
            index = np.arange(len(column))
            return same_count(count, bundles.greatest(index, valid))
        values = as_words(column)
        summed = Keeps.SUM in asked
        if summed and not bundles.fits(values, valid):
            return None
        if Keeps.ENDS not in asked:
            return same_sum(count, bundles.sums(values, valid))
        ends = bundles.least(values, valid), bundles.greatest(values, valid)
        if not summed:
            return same_ends(count, *ends)
        return same_sum_and_ends(count, bundles.sums(values, valid), *ends)

    def _column(
        self,
        name: str,
        column: pa.Array,
        steps: Steps | None,
        bundle: np.ndarray,
        place: np.ndarray,
        first: np.ndarray,
    ) -> pa.Array:
        if steps is None:
            return column.take(pa.array(first))
        values, missing = steps.at(bundle, place)
        if self._asked(name) <= {Keeps.COUNT}:
            return column.take(pa.array(values, mask=missing))
        words = pa.array(values, mask=missing)
        if pa.types.is_date32(column.type):
            words = pa.array(np.where(missing, 0, values).astype(np.int32), mask=missing)
        return words.view(column.type)


def _beginnings(changes: Changes) -> np.ndarray:
    """True for rows that do not come and go with the one before them."""
    fresh = np.ones(len(changes), np.bool_)
    for times in (changes.ts, changes.exp, changes.weight > 0):
        fresh[1:] &= times[1:] == times[:-1]
    fresh[1:] = ~fresh[1:]
    return fresh
