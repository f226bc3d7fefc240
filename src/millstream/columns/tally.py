"""Counts of values followed in time: what a function of them comes to, and when that changes."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import inlined, native
from millstream.columns.trace import INFINITY

PRESENT, SMALLER, SURPLUS = 0, 1, 2
"""1 if there is any on the left; the smaller of the two counts; how many more the left has."""


@native
def tally(codes, sides, instants, weights, left, right, kind):  # type: ignore[no-untyped-def]
    """Follow events in the order of time; `left` and `right`, the counts of every code, move on.

    Gives rows (code, ts, exp, weight): how often the value is present from `ts` until `exp`. A
    row that is ended by a later one of the same size has its end; others are open.
    """
    most = len(codes) + 1
    row_code = np.empty(most, np.int64)
    ts = np.empty(most, np.int64)
    exp = np.empty(most, np.int64)
    weight = np.empty(most, np.int64)
    emitted = np.empty(len(left), np.int64)
    for c in range(len(left)):
        emitted[c] = _value(left[c], right[c], kind)
    opened = np.full(len(left), -1, np.int64)
    seen = np.full(len(left), -1, np.int64)
    following = np.full(len(codes), -1, np.int64)
    for k in range(len(codes)):
        c = codes[k]
        if seen[c] >= 0:
            following[seen[c]] = k
        seen[c] = k
    rows = 0
    for k in range(len(codes)):
        c = codes[k]
        if sides[k] == 0:
            left[c] += weights[k]
        else:
            right[c] += weights[k]
        after = following[k]
        if after >= 0 and instants[after] == instants[k]:
            continue
        change = _value(left[c], right[c], kind) - emitted[c]
        if change == 0:
            continue
        emitted[c] += change
        r = opened[c]
        if r >= 0 and weight[r] == -change:
            exp[r] = instants[k]
            opened[c] = -1
            continue
        row_code[rows] = c
        ts[rows] = instants[k]
        exp[rows] = INFINITY
        weight[rows] = change
        opened[c] = rows if change > 0 else -1
        rows += 1
    return row_code[:rows], ts[:rows], exp[:rows], weight[:rows]


@inlined
def _value(left, right, kind):  # type: ignore[no-untyped-def]
    if kind == PRESENT:
        return np.int64(left > 0)
    if kind == SMALLER:
        return max(min(left, right), np.int64(0))
    return max(left - max(right, np.int64(0)), np.int64(0))
