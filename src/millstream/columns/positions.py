"""Rows kept in order under insertion and removal: who holds the positions from … to …, and when."""

from __future__ import annotations

import numpy as np

from millstream.columns.multiset import build_tree, find_rank
from millstream.columns.native import inlined, native

INFINITY = 2**63 - 1


@native
def follow_positions(  # type: ignore[no-untyped-def]
    slots, instants, weights, event_starts, slot_starts, counts, more, low, high
):
    """Follow the rows at positions low … high−1 of every partition through time.

    Every row has a slot; the slots of a partition lie together in order (`slot_starts`), `counts`
    says how often each is present and moves on. Events lie by partition, then by time. Gives, for
    every instant at which the number of copies of a row in these positions changes, the row's slot,
    the instant and the change. Where `more` is true, rows that have no slot follow; the last answer
    says whether they were needed, and then the others mean nothing.

    Only the rows touched and those that a boundary passes are looked at, each in logarithmic time;
    where only rows after the last position are touched, these are only counted.
    """
    tree = build_tree(counts, slot_starts)
    most = 5 * len(slots) + 2 * np.abs(weights).sum()
    emitted = (np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64))
    rows = 0
    shown = np.zeros(len(counts), np.int64)
    for p in range(len(slot_starts) - 1):
        bounds = (slot_starts[p], slot_starts[p + 1] - slot_starts[p], low, high)
        total = _show(shown, counts, bounds)
        first = _slot_at(tree, bounds, total, low)
        last = _slot_at(tree, bounds, total, high)
        k = event_starts[p]
        while k < event_starts[p + 1]:
            begin, instant, least = k, instants[k], slots[k]
            while k < event_starts[p + 1] and instants[k] == instant:
                _add(tree, bounds, slots[k], weights[k])
                counts[slots[k]] += weights[k]
                total += weights[k]
                least = min(least, slots[k])
                k += 1
            if least > last:  # whoever holds these positions stays where it is
                continue
            if more[p] and total < high:
                return emitted[0][:0], emitted[1][:0], emitted[2][:0], True
            for e in range(begin, k):
                position = _before(tree, bounds, slots[e])
                rows = _emit(emitted, rows, shown, counts, bounds, slots[e], position, instant)
            was, first = first, _slot_at(tree, bounds, total, low)
            rows = _pass(emitted, rows, shown, counts, tree, bounds, total, was, first, instant)
            was, last = last, _slot_at(tree, bounds, total, high)
            rows = _pass(emitted, rows, shown, counts, tree, bounds, total, was, last, instant)
    return emitted[0][:rows], emitted[1][:rows], emitted[2][:rows], False


@native
def as_intervals(slots, instants, changes, count):  # type: ignore[no-untyped-def]
    """Changes of the number of copies as weighted intervals, those of each slot in time order.

    A copy that comes and goes is one interval; one that was there before ends with a negative one.
    """
    n = len(slots)
    slot = np.empty(n, np.int64)
    ts = np.empty(n, np.int64)
    exp = np.full(n, INFINITY, np.int64)
    weight = np.empty(n, np.int64)
    below = np.full(n, -1, np.int64)
    latest = np.full(count, -1, np.int64)
    for r in range(n):
        s = slots[r]
        slot[r], ts[r], weight[r] = s, instants[r], changes[r]
        if changes[r] > 0:
            below[r] = latest[s]
            latest[s] = r
            continue
        left = -changes[r]
        while left > 0 and latest[s] >= 0 and weight[latest[s]] <= left:
            open_row = latest[s]
            exp[open_row] = instants[r]
            left -= weight[open_row]
            latest[s] = below[open_row]
        weight[r] = -left
        if left > 0 and latest[s] >= 0:
            weight[latest[s]] -= left
            ts[r], exp[r], weight[r] = ts[latest[s]], instants[r], left
    kept = weight != 0
    return slot[kept], ts[kept], exp[kept], weight[kept]


@inlined
def _overlap(position, count, bounds):  # type: ignore[no-untyped-def]
    """How many of the copies from a position on lie inside the bounds."""
    return max(0, min(position + count, bounds[3]) - max(position, bounds[2]))


@native
def _show(shown, counts, bounds):  # type: ignore[no-untyped-def]
    """Set what a partition shows from its counts; gives the number of its rows."""
    position = 0
    for s in range(bounds[0], bounds[0] + bounds[1]):
        shown[s] = _overlap(position, counts[s], bounds)
        position += counts[s]
    return position


@native
def _slot_at(tree, bounds, total, position):  # type: ignore[no-untyped-def]
    """The slot that holds a position; the one after the last if there are fewer rows."""
    if position >= total:
        return bounds[0] + bounds[1]
    return bounds[0] + find_rank(tree, bounds[0], bounds[1], position)


@native
def _add(tree, bounds, slot, weight):  # type: ignore[no-untyped-def]
    i = slot - bounds[0] + 1
    while i <= bounds[1]:
        tree[bounds[0] + i - 1] += weight
        i += i & -i


@native
def _before(tree, bounds, slot):  # type: ignore[no-untyped-def]
    """How many rows lie before a slot."""
    found = 0
    i = slot - bounds[0]
    while i > 0:
        found += tree[bounds[0] + i - 1]
        i -= i & -i
    return found


@native
def _emit(emitted, rows, shown, counts, bounds, slot, position, instant):  # type: ignore[no-untyped-def]
    """Note how the number shown of a slot changes, if it does."""
    now = _overlap(position, counts[slot], bounds)
    if now == shown[slot]:
        return rows
    emitted[0][rows], emitted[1][rows], emitted[2][rows] = slot, instant, now - shown[slot]
    shown[slot] = now
    return rows + 1


@native
def _pass(emitted, rows, shown, counts, tree, bounds, total, one, other, instant):  # type: ignore[no-untyped-def]
    """Note the changes of the slots that a boundary has passed on its way from one to another."""
    to = max(one, other)
    position = _before(tree, bounds, min(one, other))
    while position < total:
        slot = bounds[0] + find_rank(tree, bounds[0], bounds[1], position)
        if slot > to:
            break
        rows = _emit(emitted, rows, shown, counts, bounds, slot, position, instant)
        position += counts[slot]
    return rows
