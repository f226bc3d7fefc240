"""Two sequences of events made one for every group, in linear time."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import native


@native
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


@native
def turns_in(instants: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Before which of the instants each end lies: the first that is not before it. Both are sorted.

    >>> turns_in(np.array([1, 4, 4]), np.array([0, 4, 9])).tolist()
    [0, 1, 3]
    """
    turns = np.empty(len(ends), np.int64)
    at = 0
    for j in range(len(ends)):
        while at < len(instants) and instants[at] < ends[j]:
            at += 1
        turns[j] = at
    return turns
