"""sum and avg."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.aggregate import Aggregate, Combining, Keeps
from millstream.aggregates.distinct import with_distinct
from millstream.aggregates.numeric import double_of_number, is_number
from millstream.aggregates.running import Running, is_empty
from millstream.aggregates.totals import sum_of
from millstream.algebra.types import INTEGER, INTERVAL


def _of_sum(argument: pa.DataType | None) -> pa.DataType | None:
    if argument is not None and pa.types.is_decimal(argument):
        return pa.decimal128(38, argument.scale)
    return argument if is_number(argument) or argument == INTERVAL else None


def _sum(
    counts: np.ndarray, sums: tuple[np.ndarray, ...], argument: pa.DataType, kind: pa.DataType
) -> pa.Array:
    none = is_empty(counts)
    if sums[0].ndim == 1:
        return pa.array(sums[0], mask=none)
    lower, upper = sums[0][:, 0], sums[0][:, 1]
    if pa.types.is_decimal(kind):
        whole = pa.Array.from_buffers(kind, len(lower), [None, pa.py_buffer(sums[0])])
        return whole if none is None else pc.if_else(pa.array(none), pa.scalar(None, kind), whole)
    overflows = upper != lower >> 63
    if overflows.any():
        none = overflows if none is None else none | overflows
    return pa.array(lower, mask=none).cast(kind)


def _average(
    counts: np.ndarray, sums: tuple[np.ndarray, ...], argument: pa.DataType, kind: pa.DataType
) -> pa.Array:
    total = sums[0]
    if total.ndim == 2:
        lower, upper = total[:, 0], total[:, 1]
        wide = upper * 2.0**64 + lower.view(np.uint64)
        total = np.where(upper == lower >> 63, lower.astype(np.float64), wide)
        if pa.types.is_decimal(argument):
            total = total / 10.0**argument.scale
    with np.errstate(all="ignore"):
        return pa.array(total / counts, mask=is_empty(counts))


SUM = with_distinct(
    Aggregate(
        "sum",
        "sum(x)",
        "the sum",
        _of_sum,
        Running(sum_of, _sum),
        combines=Combining(Keeps.SUM, (INTEGER, INTERVAL)),
    )
)
AVG = with_distinct(
    Aggregate(
        "avg",
        "avg(x)",
        "the mean",
        double_of_number,
        Running(sum_of, _average),
        aliases=("mean",),
        combines=Combining(Keeps.SUM, (INTEGER,)),
    )
)
