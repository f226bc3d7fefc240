"""What generated programs call. A change here makes other files in the cache (see `keeping`)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from millstream.columns.keys import MOVED, scramble

_SMALL = 1 << 31
_LARGEST = 2.0**63
_EXACT = 2.0**53


# Machine code for signed integers assumes that they do not overflow: what may is done unsigned.


@njit(inline="always")
def plus(x, y):  # type: ignore[no-untyped-def]
    """x + y, and whether it is that."""
    z = np.int64(np.uint64(x) + np.uint64(y))
    return z, ((x ^ z) & (y ^ z)) >= 0


@njit(inline="always")
def minus(x, y):  # type: ignore[no-untyped-def]
    """x - y, and whether it is that."""
    z = np.int64(np.uint64(x) - np.uint64(y))
    return z, ((x ^ y) & (x ^ z)) >= 0


@njit(inline="always")
def product(x, y):  # type: ignore[no-untyped-def]
    """x · y, and whether it is that."""
    z = np.int64(np.uint64(x) * np.uint64(y))
    if -_SMALL <= x <= _SMALL and -_SMALL <= y <= _SMALL:
        return z, True
    return z, _fits(x, y)


@njit
def _fits(x, y):  # type: ignore[no-untyped-def]
    rough = abs(float(x) * float(y))
    if rough < 0.9 * _LARGEST or rough > 1.1 * _LARGEST:
        return rough < _LARGEST
    most = np.uint64(2**63) - np.uint64(1 if (x < 0) == (y < 0) else 0)
    first = np.uint64(0) - np.uint64(x) if x < 0 else np.uint64(x)
    second = np.uint64(0) - np.uint64(y) if y < 0 else np.uint64(y)
    return first <= most // second


@njit(inline="always")
def quotient(x, y):  # type: ignore[no-untyped-def]
    """x / y without what is behind the point; y is not 0."""
    if y == 0:
        return 0
    if y == -1:
        return -x
    z = x // y
    return z + 1 if z < 0 and z * y != x else z


@njit(inline="always")
def remainder(x, y):  # type: ignore[no-untyped-def]
    """What is left of x, with its sign."""
    return 0 if y == 0 or y == -1 else x - y * quotient(x, y)


@njit(inline="always")
def whole(x):  # type: ignore[no-untyped-def]
    """A double that has nothing behind the point as an integer, and whether there is one."""
    if -_LARGEST <= x < _LARGEST:
        return np.int64(x), True
    return np.int64(0), False


@njit
def rounded(x, power, small):  # type: ignore[no-untyped-def]
    """x with some digits, ten to the power of which is `power`, half away from zero.

    `small` says that they are digits before the point.
    """
    if not math.isfinite(x) or (not small and abs(x) >= _EXACT):
        return x
    scaled = x / power if small else x * power
    part = scaled - math.floor(scaled)
    if part == 0.0:
        return x
    away = math.ceil(scaled - 0.5) if x < 0 else math.floor(scaled + 0.5)
    if part != 0.5:
        away = nearest(scaled)
    return away * power if small else away / power


@njit(inline="always")
def nearest(x):  # type: ignore[no-untyped-def]
    """The nearest whole number, half away from zero."""
    low = math.floor(x)
    part = x - low
    return low + 1.0 if part > 0.5 or (part == 0.5 and x > 0) else float(low)


@njit(inline="always")
def sign(x):  # type: ignore[no-untyped-def]
    return np.int64(1) if x > 0 else np.int64(-1) if x < 0 else np.int64(0)


@njit(inline="always")
def larger(x, y):  # type: ignore[no-untyped-def]
    """The larger double; NaN only if both are."""
    return y if x != x or y > x else x


@njit(inline="always")
def smaller(x, y):  # type: ignore[no-untyped-def]
    return y if x != x or y < x else x


@njit(inline="always")
def pair(high, low, x):  # type: ignore[no-untyped-def]
    """Add to a sum of two doubles without losing what the first cannot hold."""
    s = high + x
    b = s - high
    low += (high - (s - b)) + (x - b)
    t = s + low
    return t, low - (t - s)


@njit(inline="always")
def total(high, low, nans, ups, downs):  # type: ignore[no-untyped-def]
    """The double that a pair stands for, with NaN and the infinities that were counted."""
    if nans > 0 or (ups > 0 and downs > 0):
        return np.nan
    if ups > 0:
        return np.inf
    if downs > 0:
        return -np.inf
    return high + low + 0.0


@njit(inline="always")
def whole_total(high, low):  # type: ignore[no-untyped-def]
    """high · 2³² + low as an integer, and whether there is one."""
    high += low >> 32
    return (high << 32) | (low & 0xFFFFFFFF), -_SMALL <= high < _SMALL


@njit(inline="always")
def wide_total(high, low):  # type: ignore[no-untyped-def]
    """high · 2³² + low as a double."""
    value, fits = whole_total(high, low)
    if fits:
        return float(value)
    high += low >> 32
    return float(high >> 32) * 2.0**64 + float(np.uint64(value))


@njit(inline="always")
def hash_of(x, seed):  # type: ignore[no-untyped-def]
    """What `kernels.hashed` gives for a whole number."""
    moved = np.uint64(seed) + np.uint64(MOVED)
    return np.int64(scramble(scramble(np.uint64(x)) * np.uint64(31) + moved) >> np.uint64(33))


@njit
def grown(column, size):  # type: ignore[no-untyped-def]
    """A column with room for so many values."""
    more = np.empty(size, column.dtype)
    more[: len(column)] = column
    return more


SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio."""


# An index is an array of slots: a key and its first row, which is −1 in a slot that is free, and −2
# where all rows have been deleted. Programs look keys up themselves, and hand only numbers to what
# is called here: an array that is handed over is counted, which takes longer than to look.


@njit(inline="always")
def slot_of(key, bits):  # type: ignore[no-untyped-def]
    """Where a key is looked for first, to be cut to the size of the index: keys less than the
    number of slots lie in their order."""
    return np.int64(np.uint64(key) ^ (np.uint64(key >> bits) * SPREAD)) << 1


@njit(inline="always")
def step_of(key):  # type: ignore[no-untyped-def]
    """How far it is to the next slot: each key goes its own way through all of them, so that keys
    that lie in a row are no long way for others."""
    return ((np.int64((np.uint64(key) * SPREAD) >> np.uint64(40)) << 1) | 1) << 1


@njit
def link(index, ends, following, bits, key, row):  # type: ignore[no-untyped-def]
    """Put a row behind the others of its key; how many slots are used more than before."""
    mask = len(index) - 2
    at = slot_of(key, bits) & mask
    while index[at + 1] != -1 and index[at] != key:
        at = (at + step_of(key)) & mask
    new = index[at + 1] == -1
    if index[at + 1] < 0:
        index[at], index[at + 1] = key, row
    else:
        following[ends[at >> 1]] = row
    ends[at >> 1] = row
    following[row] = -1
    return 1 if new else 0


@njit
def unlink(index, ends, following, at, before, row):  # type: ignore[no-untyped-def]
    """Take a row out of those of its key, of which `before` comes before it, or −1."""
    after = following[row]
    if before >= 0:
        following[before] = after
    else:
        index[at + 1] = after if after >= 0 else -2
    if after < 0:
        ends[at >> 1] = before


@njit
def indexed(keys, valid, alive, following, first, last, size):  # type: ignore[no-untyped-def]
    """An index over rows: its slots, the last row of each, how many are used, how many bits the
    number of one has, and what cuts a place to the size of the index."""
    bits = 4
    while (1 << bits) < max(size, 2 * (last - first)):
        bits += 1
    slots = 1 << bits
    index = np.empty(2 * slots, np.int64)
    ends = np.empty(slots, np.int64)
    used = refilled(index, ends, keys, valid, alive, following, first, last, bits)
    return index, ends, used, bits, 2 * slots - 2


@njit
def refilled(index, ends, keys, valid, alive, following, first, last, bits):  # type: ignore[no-untyped-def]
    """Fill the slots with rows again; how many are used."""
    index[:] = -1
    used = 0
    for row in range(first, last):
        if (len(valid) == 0 or valid[row]) and (len(alive) == 0 or alive[row]):
            used += link(index, ends, following, bits, keys[row], row)
    return used
