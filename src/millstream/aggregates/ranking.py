"""What only OVER has: rank, dense_rank and lag, which go by the places of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate, Arity
from millstream.aggregates.numeric import same
from millstream.algebra.time import DAWN
from millstream.algebra.types import INTEGER
from millstream.columns.native import native
from millstream.state.ordered_run import OrderedRun


@dataclass(frozen=True)
class Lag:
    """The value of the row that the current one drives out of a frame by rows: of n rows, the n-th
    before it."""

    slots: tuple[str, ...] = ()

    def run(self, run: OrderedRun, arguments: tuple[str, ...], slots: list[np.ndarray]) -> pa.Array:
        """The result for every arrival."""
        assert run.turns is not None, "lag stands in a frame by rows"
        arrivals = len(run.arrivals)
        index = np.full(arrivals, -1)
        index[run.turns] = np.arange(arrivals, arrivals + len(run.turns))
        return run.column(arguments[0]).take(pa.array(index, mask=index < 0))


@dataclass(frozen=True)
class Rank:
    """The place of a row among those of its partition, where rows of one instant share a place.

    State: of every partition how many rows it has had, the place of the newest, how many places
    there are, and when the newest came.
    """

    dense: bool
    slots: tuple[str, ...] = ("#rows", "#place", "#places", "#newest")

    def run(self, run: OrderedRun, arguments: tuple[str, ...], slots: list[np.ndarray]) -> pa.Array:
        """The result for every arrival."""
        fresh = slots[0] == 0
        slots[3][fresh] = DAWN
        arrivals = len(run.arrivals)
        places = _places(run.partition[:arrivals], run.arrivals.ts, *slots)
        return pa.array(places[1 if self.dense else 0])


@native
def _places(partition, instants, rows, place, places, newest):  # type: ignore[no-untyped-def]
    """The rank and the dense rank of every arrival; the slots move on."""
    ranks = np.empty(len(partition), np.int64)
    dense = np.empty(len(partition), np.int64)
    for i in range(len(partition)):
        p = partition[i]
        rows[p] += 1
        if instants[i] != newest[p]:
            newest[p] = instants[i]
            place[p] = rows[p]
            places[p] += 1
        ranks[i] = place[p]
        dense[i] = places[p]
    return ranks, dense


def _whole(argument: pa.DataType | None) -> pa.DataType:
    return INTEGER


LAG = Aggregate("lag", "lag(x)", "the value of an earlier row", same, Lag())
RANK = Aggregate(
    "rank", "rank()", "the place by time, with gaps", _whole, Rank(False), arity=Arity(0, 0)
)
DENSE_RANK = Aggregate(
    "dense_rank", "dense_rank()", "the place by time", _whole, Rank(True), arity=Arity(0, 0)
)
RANKINGS = (LAG, RANK, DENSE_RANK)
