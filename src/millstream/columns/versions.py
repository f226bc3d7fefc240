"""Modifications followed in time: which of them take effect, and until when."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import inlined, native

NEVER = 2**63 - 1
INSERT, UPDATE, DELETE = 0, 1, 2


@native
def follow_keys(order, group, ts, kind, value, current, entered, ends):  # type: ignore[no-untyped-def]
    """Follow rows that replace each other under a key.

    `order` lists the modifications by group (the key), instant and arrival; `current` is the row
    that every group has before, or −1. The last modification of an instant counts. One that puts a
    row equal in `value` to the one that is there changes nothing. Marks in `entered` what takes
    effect, and in `ends` when the rows that are replaced or removed leave.
    """
    i = 0
    while i < len(order):
        j = _last_of_instant(order, group, ts, i)
        e = order[j]
        there = current[group[e]]
        if kind[e] == DELETE:
            if there >= 0:
                ends[there] = ts[e]
                current[group[e]] = -1
        elif there < 0 or value[there] != value[e]:
            if there >= 0:
                ends[there] = ts[e]
            entered[e] = True
            current[group[e]] = e
        i = j + 1


@native
def follow_copies(order, group, ts, kind, top, below, entered, ends):  # type: ignore[no-untyped-def]
    """Follow copies of equal rows: each modification adds one, or removes one if there is one.

    `order` lists the modifications by group (equal rows), instant and arrival; `top` is the newest
    copy of every group, `below` the one before each. Only the difference that an instant makes
    takes effect: the newest copies enter, or leave. Marks `entered` and `ends`.
    """
    counts = np.zeros(len(top), np.int64)
    for g in range(len(top)):
        c = top[g]
        while c >= 0:
            counts[g] += 1
            c = below[c]
    i = 0
    while i < len(order):
        j = _last_of_instant(order, group, ts, i)
        g = group[order[i]]
        count = counts[g]
        for k in range(i, j + 1):
            count = max(count - 1, 0) if kind[order[k]] == DELETE else count + 1
        k = j
        while counts[g] < count:
            e = order[k]
            if kind[e] != DELETE:
                entered[e] = True
                below[e] = top[g]
                top[g] = e
                counts[g] += 1
            k -= 1
        while counts[g] > count:
            ends[top[g]] = ts[order[j]]
            top[g] = below[top[g]]
            counts[g] -= 1
        i = j + 1


@inlined
def _last_of_instant(order, group, ts, i):  # type: ignore[no-untyped-def]
    """The place of the last modification with the group and the instant of the one at i."""
    j = i
    g = group[order[i]]
    t = ts[order[i]]
    while j + 1 < len(order) and group[order[j + 1]] == g and ts[order[j + 1]] == t:
        j += 1
    return j
