"""Two sequences of events made one for every group, in linear time."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def interleaved(groups, turns, first_ends, count):  # type: ignore[no-untyped-def]
    """Sort events by group, then by turn: the events in order, and where each group starts.

    Events before `first_ends` arrive, in their order; the others leave, each before the arrival
    whose number is its turn. Turns do not decrease.
    """
    n = len(groups)
    starts = np.zeros(count + 1, np.int64)
    for g in groups:
        starts[g + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    place = starts[:-1].copy()
    event = np.empty(n, np.int64)
    i = 0
    j = first_ends
    for _ in range(n):
        if j < n and (i >= first_ends or turns[j - first_ends] <= i):
            e = j
            j += 1
        else:
            e = i
            i += 1
        g = groups[e]
        event[place[g]] = e
        place[g] += 1
    return event, starts
