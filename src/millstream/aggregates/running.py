"""Aggregates that follow from running sums: count, sum, avg, variance and standard deviation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.types import INTEGER
from millstream.columns.keys import as_floats, as_words, validity
from millstream.columns.runs import (
    Runs,
    running_counts,
    running_floats,
    running_integers,
    running_squares,
)

Totals = list[np.ndarray]
ALWAYS = np.zeros(0, np.bool_)


@dataclass(frozen=True)
class Running:
    """An aggregate kept as a few numbers per group.

    `totals` are the types of those numbers; `run` moves them along the runs and gives the result
    after each. Law: the result depends on the rows present, not on the order or cut of the events.
    """

    totals: tuple[type, ...]
    run: Callable[[Runs, np.ndarray, pa.Array | None, Totals, pa.DataType], pa.Array]


def count(
    runs: Runs, weights: np.ndarray, values: pa.Array | None, totals: Totals, kind: pa.DataType
) -> pa.Array:
    valid = _valid(values)
    return pa.array(
        running_counts(runs.order, runs.stops, runs.group, weights, valid, totals[0]), INTEGER
    )


def sum_of(
    runs: Runs, weights: np.ndarray, values: pa.Array, totals: Totals, kind: pa.DataType
) -> pa.Array:
    sums, counts = _sums(runs, weights, values, totals, kind)
    return pc.if_else(pa.array(counts > 0), sums, pa.scalar(None, kind))


def average(
    runs: Runs, weights: np.ndarray, values: pa.Array, totals: Totals, kind: pa.DataType
) -> pa.Array:
    within = pa.decimal128(38, values.type.scale) if pa.types.is_decimal(values.type) else values.type
    sums, counts = _sums(runs, weights, values, totals, within)
    with np.errstate(all="ignore"):
        means = sums.cast(pa.float64()).to_numpy(zero_copy_only=False) / counts
    return pa.array(means, mask=counts <= 0)


def deviation(finish: Callable[[np.ndarray, np.ndarray], np.ndarray], least: int) -> Callable[..., pa.Array]:
    """Variance or standard deviation; NULL for fewer than `least` values."""

    def run(
        runs: Runs, weights: np.ndarray, values: pa.Array, totals: Totals, kind: pa.DataType
    ) -> pa.Array:
        floats, valid = as_floats(values), _valid(values)
        sums = np.stack(totals[0:2], axis=1)
        squares = np.stack(totals[2:4], axis=1)
        moved = totals[4].copy()
        around = running_squares(
            runs.order, runs.stops, runs.group, weights, valid, floats, sums, squares, moved
        )
        counts = running_counts(runs.order, runs.stops, runs.group, weights, valid, totals[4])
        for i, column in enumerate((sums[:, 0], sums[:, 1], squares[:, 0], squares[:, 1])):
            totals[i][:] = column
        with np.errstate(all="ignore"):
            return pa.array(finish(around, counts), mask=counts < least)

    return run


def _sums(
    runs: Runs, weights: np.ndarray, values: pa.Array, totals: Totals, kind: pa.DataType
) -> tuple[pa.Array, np.ndarray]:
    """The sums and the counts of values after every run."""
    valid = _valid(values)
    counts = running_counts(runs.order, runs.stops, runs.group, weights, valid, totals[-1])
    if pa.types.is_floating(values.type):
        odd = np.stack(totals[2:5], axis=1).astype(np.int64)
        sums = running_floats(
            runs.order, runs.stops, runs.group, weights, valid, as_floats(values),
            totals[0], totals[1], odd,
        )
        for i in range(3):
            totals[2 + i][:] = odd[:, i]
        return pa.array(sums), counts
    high, low = running_integers(
        runs.order, runs.stops, runs.group, weights, valid, _integers(values), *totals[:2]
    )
    return _join_halves(high, low, kind), counts


def _integers(values: pa.Array) -> np.ndarray:
    """Integers, intervals as microseconds, decimals as their digits."""
    if pa.types.is_decimal(values.type):
        if len(values) == 0:
            return np.zeros(0, np.int64)
        raw = np.frombuffer(values.buffers()[1], np.int64)
        return np.ascontiguousarray(raw[values.offset * 2 : (values.offset + len(values)) * 2 : 2])
    return as_words(values)


def _join_halves(high: np.ndarray, low: np.ndarray, kind: pa.DataType) -> pa.Array:
    """high·2³² + low in the result's type; NULL where a bigint cannot hold it."""
    if pa.types.is_decimal(kind):
        whole = high.astype(object) * 2**32 + low if len(high) else high
        if np.all(np.abs(high) < 2**31):
            small = (high << 32) + low
            digits = np.empty(2 * len(small), np.int64)
            digits[0::2], digits[1::2] = small, small >> 63
            return pa.Array.from_buffers(kind, len(small), [None, pa.py_buffer(digits)])
        import decimal

        return pa.array([decimal.Decimal(int(w)).scaleb(-kind.scale) for w in whole], kind)
    fits = (high >= -(2**31)) & (high < 2**31)
    return pa.array((high << 32) + low, mask=~fits).cast(kind)


def _valid(values: pa.Array | None) -> np.ndarray:
    valid = None if values is None else validity(values)
    return ALWAYS if valid is None else valid


_WHOLE = (np.int64, np.int64, np.int64)
_REAL = (np.float64, np.float64, np.int64, np.int64, np.int64, np.int64)
_SPREAD = (np.float64, np.float64, np.float64, np.float64, np.int64)

RUNNING = {
    "count": Running((np.int64,), count),
    "sum": Running(_WHOLE, sum_of),
    "avg": Running(_WHOLE, average),
    "var_samp": Running(_SPREAD, deviation(lambda m, n: m / (n - 1), 2)),
    "var_pop": Running(_SPREAD, deviation(lambda m, n: m / n, 1)),
    "stddev_samp": Running(_SPREAD, deviation(lambda m, n: np.sqrt(m / (n - 1)), 2)),
    "stddev_pop": Running(_SPREAD, deviation(lambda m, n: np.sqrt(m / n), 1)),
}


def running(function: str, argument: pa.DataType | None) -> Running | None:
    """How to keep an aggregate of such an argument as totals, or None if it cannot be."""
    found = RUNNING.get(function)
    if found is not None and function in ("sum", "avg") and pa.types.is_floating(argument):
        return Running(_REAL, found.run)
    return found
