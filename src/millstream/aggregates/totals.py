"""Totals: numbers that are kept per group and move on as rows come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.columns.keys import as_floats, as_words, validity
from millstream.columns.trace import (
    Trace,
    running_counts,
    running_floats,
    running_integers,
    running_squares,
    two_sum,
)

Totals = list[np.ndarray]
WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Total:
    """Numbers kept per group for one argument; several aggregates may rest on the same ones.

    `name` is their name in the state; `columns` are their types; `run` moves them along a trace and
    gives their values in every row. `combine` makes the totals of two bags of values those
    of both together, group by group.
    Law: a value depends on the rows present, not on the order or the cut of the events; so totals
    of some events, combined with those of the others, are the totals of all.
    """

    name: str
    columns: tuple[type, ...]
    run: Callable[[Trace, np.ndarray, pa.Array, Totals], tuple[np.ndarray, ...]]
    combine: Callable[[Totals, Totals], Totals]


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


def _added(some: Totals, others: Totals) -> Totals:
    return [a + b for a, b in zip(some, others)]


def _carried(some: Totals, others: Totals) -> Totals:
    """Sums of three words, the topmost first; the lower two have 32 bits."""
    top, high, low = _added(some, others)
    high = high + (low >> 32)
    return [top + (high >> 32), high & WORD, low & WORD]


def _pairs_added(some: Totals, others: Totals) -> Totals:
    """Two pairs of doubles as one, with the digits of both."""
    high, low = two_sum(some[0], some[1], others[0])
    return list(two_sum(high, low, others[1]))


def _reals_added(some: Totals, others: Totals) -> Totals:
    return [*_pairs_added(some[:2], others[:2]), *_added(some[2:], others[2:])]


def _squares_added(some: Totals, others: Totals) -> Totals:
    return [*_pairs_added(some[:2], others[:2]), *_reals_added(some[2:], others[2:])]


COUNT = Total("count", (np.int64,), _count, _added)
"""How many values there are."""

WHOLE = Total("whole", (np.int64, np.int64, np.int64), _whole_sum, _carried)
"""The sum of whole numbers and decimals."""

REAL = Total(
    "real", (np.float64, np.float64, np.int64, np.int64, np.int64), _real_sum, _reals_added
)
"""The sum of doubles."""

SQUARES = Total("squares", (*[np.float64] * 4, np.int64, np.int64), _squares, _squares_added)
"""The sum of squared differences from the mean."""


def sum_of(argument: pa.DataType) -> Total:
    """The total that is the sum of values of a type."""
    return REAL if pa.types.is_floating(argument) else WHOLE


def squares_of(argument: pa.DataType) -> Total:
    return SQUARES
