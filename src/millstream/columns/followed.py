"""Searching in numbers that count up within each group."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def first_at_least(values, starts, groups, bounds):  # type: ignore[no-untyped-def]
    """For every bound, the place of the first value of its group that is not below it.

    Those of group g lie from `starts[g]` to `starts[g + 1]`, which is the place if there is none.

    >>> values, starts = np.array([1, 5, 9, 2, 4]), np.array([0, 3, 5])
    >>> first_at_least(values, starts, np.array([0, 1, 1]), np.array([4, 4, 7])).tolist()
    [1, 4, 5]
    """
    out = np.empty(len(groups), np.int64)
    for i in range(len(groups)):
        low = starts[groups[i]]
        high = starts[groups[i] + 1]
        while low < high:
            middle = (low + high) // 2
            if values[middle] < bounds[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return out
