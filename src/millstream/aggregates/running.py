"""Aggregates that follow from running totals: count, sum, avg, variance and standard deviation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.columns.keys import as_floats, as_words, validity
from millstream.columns.trace import (
    Trace,
    running_counts,
    running_floats,
    running_integers,
    running_squares,
)

Totals = list[np.ndarray]


@dataclass(frozen=True)
class Total:
    """Numbers kept per group for one argument; several aggregates may rest on the same ones.

    `columns` are their types; `run` moves them along a trace and gives what they come to in every
    row. Law: that depends on the rows present, not on the order or the cut of the events.
    """

    columns: tuple[type, ...]
    run: Callable[[Trace, np.ndarray, pa.Array, Totals], tuple[np.ndarray, ...]]


def _count(
    trace: Trace, weights: np.ndarray, values: pa.Array, totals: Totals
) -> tuple[np.ndarray, ...]:
    valid = validity(values)
    if valid is None:
        valid = np.ones(len(values), np.bool_)
    return (running_counts(*_along(trace), weights, valid, totals[0]),)


def _whole_sum(
    trace: Trace, weights: np.ndarray, values: pa.Array, totals: Totals
) -> tuple[np.ndarray, ...]:
    lower, upper = _integers(values)
    return (running_integers(*_along(trace), weights, _valid(values), lower, upper, *totals),)


def _real_sum(
    trace: Trace, weights: np.ndarray, values: pa.Array, totals: Totals
) -> tuple[np.ndarray, ...]:
    sums, odd = np.stack(totals[:2], axis=1), np.stack(totals[2:], axis=1)
    out = running_floats(*_along(trace), weights, _valid(values), as_floats(values), sums, odd)
    _put_back(totals, sums, odd)
    return (out,)


def _squares(
    trace: Trace, weights: np.ndarray, values: pa.Array, totals: Totals
) -> tuple[np.ndarray, ...]:
    sums = np.stack(totals[:4], axis=1)
    out = running_squares(
        *_along(trace), weights, _valid(values), as_floats(values), sums, *totals[4:]
    )
    _put_back(totals[:4], sums)
    return (out,)


def _along(trace: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    return trace.event, trace.group, trace.row, len(trace)


def _put_back(totals: Totals, *tables: np.ndarray) -> None:
    columns = [column for table in tables for column in table.T]
    for total, column in zip(totals, columns):
        total[:] = column


def _valid(values: pa.Array) -> np.ndarray:
    valid = validity(values)
    return np.zeros(0, np.bool_) if valid is None else valid


def _integers(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Integers, intervals as microseconds, decimals as their digits: lower and upper halves."""
    if not pa.types.is_decimal(values.type):
        return as_words(values), np.zeros(0, np.int64)
    if len(values) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    halves = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)
    halves = halves[values.offset : values.offset + len(values)]
    return np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])


TOTALS = {
    "count": Total((np.int64,), _count),
    "whole": Total((np.int64, np.int64, np.int64), _whole_sum),
    "real": Total((np.float64, np.float64, np.int64, np.int64, np.int64), _real_sum),
    "squares": Total((*[np.float64] * 4, np.int64, np.int64), _squares),
}

Finish = Callable[[np.ndarray, tuple[np.ndarray, ...], pa.DataType, pa.DataType], pa.Array]


def _finish_count(
    counts: np.ndarray, sums: tuple[np.ndarray, ...], argument: pa.DataType, kind: pa.DataType
) -> pa.Array:
    return pa.array(counts)


def _finish_sum(
    counts: np.ndarray, sums: tuple[np.ndarray, ...], argument: pa.DataType, kind: pa.DataType
) -> pa.Array:
    none = _none(counts)
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


def _finish_average(
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
        return pa.array(total / counts, mask=_none(counts))


def _deviation(compute: Callable[[np.ndarray, np.ndarray], np.ndarray], least: int) -> Finish:
    """Variance or standard deviation; NULL for fewer than `least` values."""

    def finish(
        counts: np.ndarray, sums: tuple[np.ndarray, ...], argument: pa.DataType, kind: pa.DataType
    ) -> pa.Array:
        with np.errstate(all="ignore"):
            return pa.array(compute(sums[0], counts), mask=counts < least)

    return finish


def _none(counts: np.ndarray) -> np.ndarray | None:
    """Where there is nothing to add up; None when there always is."""
    none = counts <= 0
    return none if none.any() else None


@dataclass(frozen=True)
class Running:
    """An aggregate made from the count of its values and one more total."""

    total: str | None
    finish: Finish


RUNNING = {
    "count": Running(None, _finish_count),
    "sum": Running("sum", _finish_sum),
    "avg": Running("sum", _finish_average),
    "var_samp": Running("squares", _deviation(lambda m, n: m / (n - 1), 2)),
    "var_pop": Running("squares", _deviation(lambda m, n: m / n, 1)),
    "stddev_samp": Running("squares", _deviation(lambda m, n: np.sqrt(m / (n - 1)), 2)),
    "stddev_pop": Running("squares", _deviation(lambda m, n: np.sqrt(m / n), 1)),
}


def total_name(running: Running, argument: pa.DataType) -> str | None:
    """Which total of TOTALS an aggregate of such an argument rests on, beside the count."""
    if running.total == "sum":
        return "real" if pa.types.is_floating(argument) else "whole"
    return running.total
