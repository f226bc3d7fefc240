"""What generated programs call. A change here makes other files in the cache (see `keeping`)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_SMALL = 1 << 31
_LARGEST = 2.0**63
_EXACT = 2.0**53


@njit(inline="always")
def product(x, y):  # type: ignore[no-untyped-def]
    """x · y, and whether it is that."""
    if -_SMALL <= x <= _SMALL and -_SMALL <= y <= _SMALL:
        return x * y, True
    z = x * y
    rough = float(x) * float(y)
    if abs(rough) > 1.1 * _LARGEST or (x == -1 and y == z and y < 0) or (y == -1 and x == z < 0):
        return z, False
    return z, x == 0 or (z // x == y and z % x == 0)


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


@njit
def grown(column, size):  # type: ignore[no-untyped-def]
    """A column with room for so many values."""
    more = np.empty(size, column.dtype)
    more[: len(column)] = column
    return more


@njit
def gathered(column, first, last):  # type: ignore[no-untyped-def]
    """The values of stretches, one after the other."""
    size = 0
    for i in range(len(first)):
        size += last[i] - first[i]
    out = np.empty(size, column.dtype)
    at = 0
    for i in range(len(first)):
        for j in range(first[i], last[i]):
            out[at] = column[j]
            at += 1
    return out
