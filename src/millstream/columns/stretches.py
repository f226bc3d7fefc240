"""Stretches of time in which values are present, emitted one by one as they become known."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import native


@native
def emit_stretches(codes, ts, exp, emitted, until, end):  # type: ignore[no-untyped-def]
    """Follow rows in the order of time; `emitted` and `until` of every value move on.

    A value is known to be present until `until`, and was emitted until `emitted`; both are at or
    before the beginning for a value that is not present. A stretch that continues after `emitted`
    is emitted when that instant comes, at the latest at `end`. Gives stretches (code, start, stop),
    none of which starts later.
    """
    most = 2 * len(codes) + len(emitted)
    out_code = np.empty(most, np.int64)
    out_start = np.empty(most, np.int64)
    out_stop = np.empty(most, np.int64)
    n = 0
    for k in range(len(codes)):
        c = codes[k]
        if ts[k] <= until[c]:
            until[c] = max(until[c], exp[k])
            continue
        if emitted[c] < until[c]:
            out_code[n] = c
            out_start[n] = emitted[c]
            out_stop[n] = until[c]
            n += 1
        emitted[c] = ts[k]
        until[c] = exp[k]
    for c in range(len(emitted)):
        if emitted[c] < until[c] and emitted[c] <= end:
            out_code[n] = c
            out_start[n] = emitted[c]
            out_stop[n] = until[c]
            emitted[c] = until[c]
            n += 1
    return out_code[:n].copy(), out_start[:n].copy(), out_stop[:n].copy()
