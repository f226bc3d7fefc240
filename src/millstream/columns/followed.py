"""Numbers that count up within each group: giving them out, and searching in them."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def counted_up(groups, before):  # type: ignore[no-untyped-def]
    """The number of every member in its group, and how many each group has had by now.

    >>> number, after = counted_up(np.array([1, 0, 1]), np.array([5, 7]))
    >>> number.tolist(), after.tolist()
    ([8, 6, 9], [6, 9])
    """
    after = before.copy()
    number = np.empty(len(groups), np.int64)
    for i in range(len(groups)):
        after[groups[i]] += 1
        number[i] = after[groups[i]]
    return number, after


@njit(cache=True, nogil=True)
def first_at_least(values, starts, groups, bounds):  # type: ignore[no-untyped-def]
    """For every bound, the place of the first value of its group that is not below it.

    Those of group g lie from `starts[g]` to `starts[g + 1]`, which is the place if there is none.
    Bounds that count up within a group are found near each other: steps double from the last place.

    >>> values, starts = np.array([1, 5, 9, 2, 4]), np.array([0, 3, 5])
    >>> first_at_least(values, starts, np.array([0, 1, 1]), np.array([4, 4, 7])).tolist()
    [1, 4, 5]
    """
    out = np.empty(len(groups), np.int64)
    for i in range(len(groups)):
        g = groups[i]
        low = starts[g]
        high = starts[g + 1]
        if i > 0 and groups[i - 1] == g and bounds[i - 1] <= bounds[i]:
            low = out[i - 1]
            stride = 1
            while low + stride < high and values[low + stride] < bounds[i]:
                low += stride
                stride *= 2
            high = min(high, low + stride + 1)
        while low < high:
            middle = (low + high) // 2
            if values[middle] < bounds[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return out
