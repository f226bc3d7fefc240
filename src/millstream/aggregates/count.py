"""count: how many rows, or values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate, Arity, Combining, Keeps
from millstream.aggregates.ordered import Ordered, number
from millstream.aggregates.running import Running
from millstream.algebra.types import INTEGER


def _result(argument: pa.DataType | None) -> pa.DataType:
    return INTEGER


def _finish(
    counts: np.ndarray, sums: tuple[np.ndarray, ...], argument: pa.DataType, kind: pa.DataType
) -> pa.Array:
    return pa.array(counts)


COUNT_DISTINCT = Aggregate(
    "count_distinct",
    "count(DISTINCT x)",
    "how many different values",
    _result,
    Ordered(0.0, number),
    aliases=("approx_count_distinct",),
    of_nothing=0,
    ignores_copies=True,
)
COUNT = Aggregate(
    "count",
    "count(*), count(x)",
    "how many rows, or values",
    _result,
    Running(None, _finish),
    arity=Arity(least=0),
    of_nothing=0,
    once=COUNT_DISTINCT,
    combines=Combining(Keeps.COUNT),
)
