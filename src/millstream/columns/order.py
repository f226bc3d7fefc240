"""Orders on columns: merging what is sorted by time, and sorting by group in linear time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.columns.keys import as_binary, flattened, validity
from millstream.columns.native import native


@native
def is_sorted(values: np.ndarray) -> bool:
    """True when no value is smaller than the one before it."""
    for i in range(1, len(values)):  # noqa: SIM110 (Numba does not compile it)
        if values[i] < values[i - 1]:
            return False
    return True


def stable_order(values: np.ndarray) -> np.ndarray | None:
    """The order that sorts the values and keeps ties as they are; None when they are sorted.

    >>> stable_order(np.array([3, 1, 3, 2])).tolist()
    [1, 3, 0, 2]
    """
    return None if is_sorted(values) else np.argsort(values, kind="stable")


@native
def is_among(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Where a value is one of the known ones, which are sorted."""
    out = np.zeros(len(values), np.bool_)
    at = 0
    for i in range(len(values)):
        v = values[i]
        if at >= len(known) or known[at] > v or (at + 8 < len(known) and known[at + 8] < v):
            at = np.searchsorted(known, v)
        while at < len(known) and known[at] < v:
            at += 1
        out[i] = at < len(known) and known[at] == v
    return out


@native
def group_order(groups: np.ndarray, order: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort by group, keeping `order` inside each: the new order, and where each group starts."""
    starts = np.zeros(count + 1, np.int64)
    for g in groups:
        starts[g + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    place = starts[:-1].copy()
    out = np.empty(len(order), np.int64)
    for k in range(len(order)):
        g = groups[order[k]]
        out[place[g]] = order[k]
        place[g] += 1
    return out, starts


@native
def moved(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The values in another order: each goes to its place."""
    out = np.empty_like(values)
    for i in range(len(values)):
        out[place[i]] = values[i]
    return out


def canonical_order(keys: list[np.ndarray], rows: pa.RecordBatch) -> np.ndarray:
    """Sort by the given integers, then by the values of the rows, NULL first.

    This is the order in which results leave the system, so it must not depend on anything else.
    """
    names = [f"k{i}" for i in range(len(keys))]
    arrays = [pa.array(key) for key in keys]
    if len(keys) == 2 and is_strictly_sorted(*keys):
        return np.arange(len(keys[0]))
    for i, column in enumerate(rows.columns):
        if pa.types.is_null(column.type):
            continue
        names.append(f"c{i}")
        arrays.append(sortable(column))
    if not arrays or len(arrays[0]) == 0:
        return np.zeros(0, np.int64)
    table = pa.Table.from_arrays(arrays, names)
    order = pc.sort_indices(table, sort_keys=[(n, "ascending", "at_start") for n in names])
    return order.to_numpy().astype(np.int64)


def sorted_order(columns: Sequence[tuple[pa.Array, bool, bool]]) -> np.ndarray:
    """The order that sorts rows by columns, each with (descending, NULL first); ties stay.

    NaN is greater than every number, wherever NULL goes.

    >>> sorted_order([(pa.array([2.0, None, float("nan"), 3.0]), True, False)]).tolist()
    [2, 3, 0, 1]
    """
    arrays: list[pa.Array] = []
    keys: list[tuple[str, str, str]] = []
    for column, descending, nulls_first in columns:
        if pa.types.is_null(column.type):
            continue
        way = "descending" if descending else "ascending"
        for part in _parts(column):
            keys.append((str(len(arrays)), way, "at_start" if nulls_first else "at_end"))
            arrays.append(part)
    if not arrays:
        return np.arange(len(columns[0][0]) if columns else 0)
    table = pa.Table.from_arrays(arrays, [name for name, _, _ in keys])
    return pc.sort_indices(table, sort_keys=keys).to_numpy().astype(np.int64)


def ranks(column: pa.Array) -> np.ndarray:
    """The rank of every value among the column's, from 1; equal values alike, NULL has 0.

    >>> ranks(pa.array([7, None, 5, 7])).tolist()
    [2, 0, 1, 2]
    """
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    column = sortable(column)
    column = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    found = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
    valid = validity(column)
    return found if valid is None else np.where(valid, found, 0)


def sortable(column: pa.Array) -> pa.Array:
    """A column that Arrow can sort, in the order of the given one.

    Lists go by their elements, the first that differ, and the shorter one first.
    """
    if not pa.types.is_list(column.type):
        return column
    elements, offsets = flattened(column)
    texts = as_binary(ranks(elements).astype(">u8"), offsets)
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, texts.type))


def _parts(column: pa.Array) -> list[pa.Array]:
    """A column as one or two to sort by: Arrow would put NaN beside NULL."""
    if pa.types.is_floating(column.type):
        nan = pc.is_nan(column)
        if pc.any(nan).as_py():
            return [nan, column]
    return [sortable(column)]


@native
def is_strictly_sorted(a: np.ndarray, b: np.ndarray) -> bool:
    """True when every pair is greater than the one before it."""
    for i in range(1, len(a)):
        if a[i] < a[i - 1] or (a[i] == a[i - 1] and b[i] <= b[i - 1]):
            return False
    return True
