"""Identities of derived tuples: numbers below 0, different for different tuples."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.columns.keys import hashes_of
from millstream.columns.native import native


def identity_of_pair(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The identity of tuples made from two others each: the same for the same two."""
    return _pair(left, right)


def identity_of_side(seq: np.ndarray, side: int) -> np.ndarray:
    """The identity of tuples that came in from one side of several."""
    return _pair(seq, np.full(len(seq), side, np.int64))


def identity_of_values(rows: pa.RecordBatch, length: int) -> np.ndarray:
    """The identity of tuples that are nothing but their values."""
    return _below_zero(hashes_of(rows.columns, length))


def identity_of_version(instants: np.ndarray) -> np.ndarray:
    """The identity of tuples that are made anew at these instants, one of a kind at a time."""
    return _below_zero(instants)


def identity_of_elements(seq: np.ndarray, ts: np.ndarray) -> np.ndarray:
    """Elements of a derived stream: arrival numbers stay; the others differ by their instant."""
    return np.where(seq >= 0, seq, _pair(seq, ts))


MASK = 2**62 - 1


@native
def _below_zero(numbers: np.ndarray) -> np.ndarray:
    out = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        out[i] = -1 - (numbers[i] & MASK)
    return out


@native
def _pair(left, right):  # type: ignore[no-untyped-def]
    out = np.empty(len(left), np.int64)
    for i in range(len(left)):
        x = np.uint64(left[i]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(right[i])
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
        out[i] = -1 - np.int64(x >> np.uint64(2))
    return out
