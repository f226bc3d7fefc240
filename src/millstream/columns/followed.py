"""Numbers that count up within each group: giving them out, and searching in them."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import native


@native
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


@native
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


@native
def numbered_by_group(groups, before):  # type: ignore[no-untyped-def]
    """The members by group, each in its order, where each group starts, and their groups and
    numbers: they count up from those before.

    >>> found = numbered_by_group(np.array([1, 0, 1]), np.array([5, 7]))
    >>> [part.tolist() for part in found]
    [[1, 0, 2], [0, 1, 3], [0, 1, 1], [6, 8, 9]]
    """
    count = len(before)
    starts = np.zeros(count + 1, np.int64)
    for g in groups:
        starts[g + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    place = starts[:-1].copy()
    event = np.empty(len(groups), np.int64)
    for k in range(len(groups)):
        g = groups[k]
        event[place[g]] = k
        place[g] += 1
    group = np.empty(len(groups), np.int64)
    number = np.empty(len(groups), np.int64)
    for g in range(count):
        for i in range(starts[g], starts[g + 1]):
            group[i] = g
            number[i] = before[g] + 1 + i - starts[g]
    return event, starts, group, number


@native
def places_in(starts, sizes):  # type: ignore[no-untyped-def]
    """All places of some stretches, one stretch after the other.

    >>> places_in(np.array([4, 0]), np.array([2, 3])).tolist()
    [4, 5, 0, 1, 2]
    """
    out = np.empty(sizes.sum(), np.int64)
    k = 0
    for i in range(len(starts)):
        for j in range(sizes[i]):
            out[k] = starts[i] + j
            k += 1
    return out
