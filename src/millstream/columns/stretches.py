"""Stretches of time in which values are present, emitted one by one as they become known."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def tell_stretches(codes, ts, exp, told, until, end):  # type: ignore[no-untyped-def]
    """Follow rows in the order of time; `told` and `until` of every value move on.

    A value is known to be present until `until`, and was emitted until `told`; both are at or
    before the beginning for one that is not present. What goes on after `told` is emitted when that
    instant comes, at the latest at `end`. Gives stretches (code, start, stop), none of which starts
    later.
    """
    most = 2 * len(codes) + len(told)
    out_code = np.empty(most, np.int64)
    out_start = np.empty(most, np.int64)
    out_stop = np.empty(most, np.int64)
    n = 0
    for k in range(len(codes)):
        c = codes[k]
        if ts[k] <= until[c]:
            until[c] = max(until[c], exp[k])
            continue
        if told[c] < until[c]:
            out_code[n] = c
            out_start[n] = told[c]
            out_stop[n] = until[c]
            n += 1
        told[c] = ts[k]
        until[c] = exp[k]
    for c in range(len(told)):
        if told[c] < until[c] and told[c] <= end:
            out_code[n] = c
            out_start[n] = told[c]
            out_stop[n] = until[c]
            told[c] = until[c]
            n += 1
    return out_code[:n].copy(), out_start[:n].copy(), out_stop[:n].copy()
