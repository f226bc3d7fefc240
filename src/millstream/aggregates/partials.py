"""Partial results: what is known of some neighbouring rows, as columns that can be put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.aggregates.call import AggregateCall
from millstream.aggregates.entries import dense_ranks
from millstream.aggregates.ordered import Ordered, value
from millstream.aggregates.running import Running
from millstream.aggregates.totals import COUNT, Total, Totals
from millstream.columns.keys import validity
from millstream.columns.trace import Trace

PRESENT = "#present"
NOWHERE = np.iinfo(np.int64).max

Work = list[Totals]
"""The columns of a number of parts: those of every total, and a rank for every extreme."""


def has_partials(call: AggregateCall) -> bool:
    """Whether an aggregate follows from those of the parts: from totals, or as one of the ends."""
    way = call.aggregate.way
    if isinstance(way, Ordered):
        return way.finish is value and way.fraction in (0.0, 1.0)
    return isinstance(way, Running)


@dataclass(frozen=True)
class Partials:
    """Calls over rows of a schema, computed in parts.

    Of every part there are the totals of the calls, and the row at the end that a call asks for.
    Law: parts that are put together are the part of all their rows.
    """

    calls: tuple[AggregateCall, ...]
    given: pa.Schema

    @cached_property
    def totals(self) -> dict[tuple[Total, str], tuple[str, ...]]:
        """The totals that calls rest on, each once, with the names of their columns."""
        found: dict[tuple[Total, str], tuple[str, ...]] = {(COUNT, ""): (PRESENT,)}
        for call in self.calls:
            for total, argument in self._totals_of(call):
                names = (f"#{total.name} {argument} {i}" for i in range(len(total.columns)))
                found[total, argument] = tuple(names)
        return found

    @cached_property
    def extremes(self) -> dict[AggregateCall, tuple[str, ...]]:
        """The calls that ask for one of the ends, and what they go by, their value last."""
        return {
            call: (*call.arguments[1:], call.arguments[0])
            for call in self.calls
            if isinstance(call.aggregate.way, Ordered)
        }

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a part."""
        kinds = (
            pa.field(name, pa.from_numpy_dtype(np.dtype(kind)))
            for (total, _), names in self.totals.items()
            for name, kind in zip(names, total.columns)
        )
        ends = (
            pa.field(f"{call.name} {i}", self.given.field(name).type)
            for call, by in self.extremes.items()
            for i, name in enumerate(by)
        )
        return pa.schema([*kinds, *ends])

    def of(
        self,
        rows: pa.RecordBatch,
        groups: np.ndarray,
        count: int,
        begun: pa.RecordBatch,
        places: np.ndarray,
    ) -> pa.RecordBatch:
        """The parts of so many groups; `begun` are parts that some groups have already."""
        columns: list[pa.Array] = []
        for (total, argument), names in self.totals.items():
            sums: Totals = [np.zeros(count, kind) for kind in total.columns]
            for column, name in zip(sums, names):
                column[places] = begun.column(name).to_numpy()
            if argument:
                weights = np.ones(len(groups), np.int64)
                total.run(_trace(groups, count), weights, rows.column(argument), sums)
            else:
                sums[0] += np.bincount(groups, minlength=count)
            columns += map(pa.array, sums)
        for call, by in self.extremes.items():
            columns += self._ends(call, by, rows, groups, count, begun, places)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def over(
        self, parts: pa.RecordBatch, last: np.ndarray, lengths: np.ndarray
    ) -> dict[str, pa.Array]:
        """The results over stretches of parts, each given by its last part and its length.

        Stretches of 1, 2, 4, 8 … parts are put together for all places at once: a stretch of any
        length is made of a few of them.
        """
        work = self._work(parts)
        found: Work = [[np.zeros(len(last), c.dtype) for c in some] for some in work]
        for i in range(len(self.totals), len(found)):
            found[i] = [np.full(len(last), NOWHERE)]
        at, size = last - lengths + 1, 1
        while True:
            wanted = np.flatnonzero(lengths & size)
            if len(wanted):
                here = [[c[wanted] for c in some] for some in found]
                there = [[c[at[wanted]] for c in some] for some in work]
                for some, sums in zip(found, self._combined(here, there)):
                    for column, values in zip(some, sums):
                        column[wanted] = values
                at[wanted] += size
            if not (lengths >= 2 * size).any():
                break
            before = [[c[:-size] for c in some] for some in work]
            work = self._combined(before, [[c[size:] for c in some] for some in work])
            size *= 2
        return self._read(parts, found)

    def _totals_of(self, call: AggregateCall) -> list[tuple[Total, str]]:
        way = call.aggregate.way
        if not isinstance(way, Running) or not call.arguments:
            return []
        argument = call.arguments[0]
        return [(total, argument) for total in way.totals(self.given.field(argument).type)]

    def _ends(
        self,
        call: AggregateCall,
        by: tuple[str, ...],
        rows: pa.RecordBatch,
        groups: np.ndarray,
        count: int,
        begun: pa.RecordBatch,
        places: np.ndarray,
    ) -> list[pa.Array]:
        """What a call is ordered by, of the row at its end of every group; NULLs without any."""
        columns = [
            pa.concat_arrays([begun.column(f"{call.name} {i}"), rows.column(name)])
            for i, name in enumerate(by)
        ]
        ranks = _ranks(call, columns)
        every = np.concatenate([places, groups])
        best = np.full(count, NOWHERE)
        np.minimum.at(best, every, ranks)
        chosen = np.full(count, -1)
        mine = np.flatnonzero((ranks == best[every]) & (ranks != NOWHERE))
        chosen[every[mine]] = mine
        index = pa.array(chosen, mask=chosen < 0)
        return [column.take(index) for column in columns]

    def _work(self, parts: pa.RecordBatch) -> Work:
        found = [[parts.column(n).to_numpy() for n in names] for names in self.totals.values()]
        return [*found, *([self._ranks(call, parts)] for call in self.extremes)]

    def _ranks(self, call: AggregateCall, parts: pa.RecordBatch) -> np.ndarray:
        width = len(self.extremes[call])
        return _ranks(call, [parts.column(f"{call.name} {i}") for i in range(width)])

    def _combined(self, some: Work, others: Work) -> Work:
        ways: list[Callable[[Totals, Totals], Totals]] = [total.combine for total, _ in self.totals]
        ways += [_least] * len(self.extremes)
        return [way(a, b) for way, a, b in zip(ways, some, others)]

    def _read(self, parts: pa.RecordBatch, found: Work) -> dict[str, pa.Array]:
        """The results of the calls, from what was put together."""
        sums = dict(zip(self.totals, found))
        ends = dict(zip(self.extremes, found[len(self.totals) :]))
        results = {}
        for call in self.calls:
            way = call.aggregate.way
            if isinstance(way, Running):
                kind = self.given.field(call.arguments[0]).type if call.arguments else pa.int64()
                needs = self._totals_of(call) or [(COUNT, "")]
                values = [_value_of(total, sums[total, name], kind) for total, name in needs]
                rest = values[-1] if len(values) > 1 else ()
                results[call.name] = way.finish(values[0][0], rest, kind, call.type)
            else:
                results[call.name] = self._taken(call, parts, ends[call][0])
        return results

    def _taken(self, call: AggregateCall, parts: pa.RecordBatch, best: np.ndarray) -> pa.Array:
        ranks = self._ranks(call, parts)
        values = parts.column(f"{call.name} {len(self.extremes[call]) - 1}")
        order = np.argsort(ranks, kind="stable")
        if len(order) == 0:
            return values
        at = order[np.minimum(np.searchsorted(ranks[order], best), len(order) - 1)]
        return values.take(pa.array(at, mask=best == NOWHERE))


def _ranks(call: AggregateCall, columns: list[pa.Array]) -> np.ndarray:
    """The place of every row in the order of a call, the wanted end first; NOWHERE for those that
    do not count."""
    ranks = dense_ranks(columns, len(columns[0])).astype(np.int64)
    way, known = call.aggregate.way, validity(columns[0])
    assert isinstance(way, Ordered)
    if way.fraction == 1.0:
        ranks = -ranks
    return ranks if known is None else np.where(known, ranks, NOWHERE)


def _least(some: Totals, others: Totals) -> Totals:
    return [np.minimum(some[0], others[0])]


def _value_of(total: Total, sums: Totals, kind: pa.DataType) -> tuple[np.ndarray, ...]:
    """The value of a total: what it is in every row after an event that changes nothing."""
    count = len(sums[0])
    still = np.zeros(count, np.int64)
    return total.run(_trace(np.arange(count), count), still, pa.nulls(count, kind), sums)


def _trace(groups: np.ndarray, count: int) -> Trace:
    """Events that write one row for each of so many groups."""
    none, group = np.zeros(0, np.int64), groups.astype(np.int32)
    event = np.arange(len(groups), dtype=np.int32)
    rows = np.zeros(count, np.int64)
    return Trace(event, group, group, none, rows, none, none, none, none, 0)
