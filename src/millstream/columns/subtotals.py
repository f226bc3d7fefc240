"""Sums, least and greatest values of groups, in one look at the rows."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import native
from millstream.columns.trace import add_pair


@native
def real_sums(codes, values, groups):  # type: ignore[no-untyped-def]
    """The sums of doubles as pairs, the second what the first cannot hold.

    >>> [part.tolist() for part in real_sums(np.array([0, 0, 1]), np.array([1e16, 1.0, 2.0]), 2)]
    [[1e+16, 2.0], [1.0, 0.0]]
    """
    high = np.zeros(groups)
    low = np.zeros(groups)
    for i in range(len(codes)):
        g = codes[i]
        high[g], low[g] = add_pair(high[g], low[g], values[i])
    return high, low


@native
def whole_sums(codes, values, weights, groups):  # type: ignore[no-untyped-def]
    """The sums of whole numbers, each as often as its weight says.

    >>> whole_sums(np.array([0, 0, 1]), np.array([5, 2, 7]), np.array([1, 2, 1]), 2).tolist()
    [9, 7]
    """
    sums = np.zeros(groups, np.int64)
    for i in range(len(codes)):
        sums[codes[i]] += values[i] * weights[i]
    return sums


@native
def ends_by_group(codes, values, groups):  # type: ignore[no-untyped-def]
    """The least and the greatest value of every group.

    >>> [end.tolist() for end in ends_by_group(np.array([0, 0, 1]), np.array([5, 2, 7]), 2)]
    [[2, 7], [5, 7]]
    """
    least = np.full(groups, np.iinfo(np.int64).max)
    greatest = np.full(groups, np.iinfo(np.int64).min)
    for i in range(len(codes)):
        g = codes[i]
        least[g] = min(least[g], values[i])
        greatest[g] = max(greatest[g], values[i])
    return least, greatest
