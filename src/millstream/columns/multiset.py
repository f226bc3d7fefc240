"""Values of groups kept in order under insertion and removal: extremes, quantiles, distinct."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import native


@native
def running_order(  # type: ignore[no-untyped-def]
    event, group, row, rows, weights, valid, slots, slot_counts, slot_starts, fraction
):
    """Follow a multiset per group; after every row's instant find the values around a fraction.

    Every value of a group has a slot; slots of a group lie together in value order
    (`slot_starts`), `slot_counts` says how often each is present and moves on. Gives the slots just
    below and above position fraction·(n−1) (−1 where there is none; a fraction of −p asks for the
    p-th), n, and the number of distinct values present.
    A tree of partial sums over the slots answers in logarithmic time.
    """
    tree = build_tree(slot_counts, slot_starts)
    groups = len(slot_starts) - 1
    totals = np.zeros(groups, np.int64)
    distinct = np.zeros(groups, np.int64)
    for g in range(groups):
        for s in range(slot_starts[g], slot_starts[g + 1]):
            totals[g] += slot_counts[s]
            distinct[g] += slot_counts[s] > 0
    below = np.full(rows, -1, np.int64)
    above = np.full(rows, -1, np.int64)
    sizes = np.zeros(rows, np.int64)
    kinds = np.zeros(rows, np.int64)
    for k in range(len(event)):
        e = event[k]
        g = group[k]
        r = row[k]
        start = slot_starts[g]
        size = slot_starts[g + 1] - start
        if valid[e]:
            s = slots[e]
            w = weights[e]
            before = slot_counts[s]
            slot_counts[s] = before + w
            totals[g] += w
            distinct[g] += np.int64(before + w > 0) - np.int64(before > 0)
            i = s - start + 1
            while i <= size:
                tree[start + i - 1] += w
                i += i & -i
        sizes[r] = totals[g]
        kinds[r] = distinct[g]
        last = k + 1 == len(event) or row[k + 1] != r
        if not last:
            continue
        place = fraction * (totals[g] - 1) if fraction >= 0 else -fraction - 1
        below[r] = above[r] = -1
        if place >= 0 and place < totals[g]:
            low = np.int64(np.floor(place))
            below[r] = start + find_rank(tree, start, size, low)
            above[r] = below[r] if place == low else start + find_rank(tree, start, size, low + 1)
    return below, above, sizes, kinds


@native
def build_tree(counts: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """A tree of partial sums over the slots of every group (Fenwick's)."""
    tree = counts.copy()
    for g in range(len(starts) - 1):
        start, size = starts[g], starts[g + 1] - starts[g]
        for i in range(1, size + 1):
            up = i + (i & -i)
            if up <= size:
                tree[start + up - 1] += tree[start + i - 1]
    return tree


@native
def find_rank(tree: np.ndarray, start: int, size: int, rank: int) -> int:
    """The slot, counted from the group's first, that holds the value of that rank (from 0)."""
    step = 1
    while step * 2 <= size:
        step *= 2
    position = 0
    remaining = rank
    while step > 0:
        following = position + step
        if following <= size and tree[start + following - 1] <= remaining:
            position = following
            remaining -= tree[start + following - 1]
        step //= 2
    return position
