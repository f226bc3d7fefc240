"""An aggregate in one file, as one would add it beside the built-in ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import njit

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.distinct import with_distinct
from millstream.aggregates.running import Running, is_empty
from millstream.aggregates.totals import Total, Totals
from millstream.algebra.types import INTEGER
from millstream.columns.keys import as_words, validity
from millstream.columns.trace import Trace


@njit(cache=True)
def _running_xor(event, group, row, rows, weights, valid, values, totals):  # type: ignore[no-untyped-def]
    out = np.zeros(rows, np.int64)
    for k in range(len(event)):
        e, g = event[k], group[k]
        if valid[e] and weights[e] % 2:
            totals[g] ^= values[e]
        out[row[k]] = totals[g]
    return out


def _xor(
    trace: Trace, weights: np.ndarray, values: pa.Array, totals: Totals
) -> tuple[np.ndarray, ...]:
    known = validity(values)
    valid = np.ones(len(values), np.bool_) if known is None else known
    along = trace.event, trace.group, trace.row, len(trace)
    return (_running_xor(*along, weights, valid, as_words(values), totals[0]),)


def _combine(some: Totals, others: Totals) -> Totals:
    return [some[0] ^ others[0]]


XOR = Total("xor", (np.int64,), _xor, _combine)


def _total(argument: pa.DataType) -> Total:
    return XOR


def _finish(
    counts: np.ndarray, sums: tuple[np.ndarray, ...], argument: pa.DataType, kind: pa.DataType
) -> pa.Array:
    return pa.array(sums[0], mask=is_empty(counts))


def _result(argument: pa.DataType | None) -> pa.DataType | None:
    return INTEGER if argument == INTEGER else None


BIT_XOR = with_distinct(
    Aggregate(
        "bit_xor",
        "bit_xor(x)",
        "the bits that are set oddly often",
        _result,
        Running(_total, _finish),
        aliases=("xor_agg",),
    )
)
