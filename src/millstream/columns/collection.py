"""Values of groups written out in order, or counted once each, as rows come and go."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import native

BLOCK = 64
"""Slots are skipped so many at a time where none of them is present."""


@native
def running_sizes(event, group, row, rows, weights, valid, slots, counts, slot_starts, once):  # type: ignore[no-untyped-def]
    """How many values every row's group has after its instant; each different one once, if asked.

    `counts` says how often the value of every slot is present, and moves on.
    """
    totals = np.zeros(len(slot_starts) - 1, np.int64)
    for g in range(len(totals)):
        for s in range(slot_starts[g], slot_starts[g + 1]):
            totals[g] += min(counts[s], 1) if once else counts[s]
    out = np.zeros(rows, np.int64)
    for k in range(len(event)):
        e = event[k]
        if valid[e]:
            before = counts[slots[e]]
            after = before + weights[e]
            counts[slots[e]] = after
            totals[group[k]] += min(after, 1) - min(before, 1) if once else weights[e]
        out[row[k]] = totals[group[k]]
    return out


@native
def running_lists(  # type: ignore[no-untyped-def]
    event, group, row, weights, valid, slots, counts, slot_starts, once, offsets
):
    """The slots present in every row's group after its instant, in order.

    Those of row r lie from offsets[r] to offsets[r + 1]; a slot stands there as often as it is
    present, or once. Cost: the size of the lists.
    """
    filled = np.zeros(len(counts) // BLOCK + 1, np.int64)
    for s in range(len(counts)):
        filled[s // BLOCK] += counts[s] > 0
    out = np.empty(offsets[-1], np.int32)
    last = np.full(len(offsets) - 1, -1, np.int64)
    for k in range(len(event)):
        last[row[k]] = k
    for k in range(len(event)):
        e = event[k]
        if valid[e]:
            s = slots[e]
            before = counts[s]
            counts[s] = before + weights[e]
            filled[s // BLOCK] += np.int64(counts[s] > 0) - np.int64(before > 0)
        if last[row[k]] != k:
            continue
        to = offsets[row[k]]
        s = slot_starts[group[k]]
        stop = slot_starts[group[k] + 1]
        while s < stop:
            if s % BLOCK == 0 and filled[s // BLOCK] == 0:
                s += BLOCK
                continue
            for _ in range(min(counts[s], 1) if once else counts[s]):
                out[to] = s
                to += 1
            s += 1
    return out


@native
def weights_once(event, weights, valid, slots, counts):  # type: ignore[no-untyped-def]
    """What every event adds if each value counts once; `counts` moves on."""
    out = np.zeros(len(weights), np.int64)
    for k in range(len(event)):
        e = event[k]
        if valid[e]:
            before = counts[slots[e]]
            counts[slots[e]] = before + weights[e]
            out[e] = np.int64(before + weights[e] > 0) - np.int64(before > 0)
    return out
