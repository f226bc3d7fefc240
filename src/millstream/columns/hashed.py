"""Rows by hash: sorting them in linear time, and finding equal ones in two sorted lists."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from millstream.columns.native import inlined, native
from millstream.columns.order import is_sorted, stable_order

MOST_PAIRS = 1_000_000
"""Pairs are given in blocks of about this many."""

FEW = 32
"""So many entries are sorted faster one by one."""


def hash_order(hashes: np.ndarray) -> np.ndarray | None:
    """The order that sorts hashes and keeps ties as they are; None when they are sorted.

    Hashes are spread evenly, so they are counted out by their upper bits, and the few that fall
    together are sorted one by one. Lists that are sorted each, one after the other, are merged by
    it: they are read and written from the beginning to the end.

    >>> hash_order(np.array([30, -10, 30, 20])).tolist()
    [1, 3, 0, 2]
    """
    return None if is_sorted(hashes) else _by_upper_bits(hashes, _bits_for(len(hashes)))


def tuple_order(hashes: np.ndarray, seq: np.ndarray, exp: np.ndarray) -> np.ndarray:
    """The order by hash, then by seq and exp.

    >>> tuple_order(np.array([7, 5, 7]), np.array([2, 0, 1]), np.array([9, 9, 9])).tolist()
    [1, 2, 0]
    """
    order = hash_order(hashes)
    order = np.arange(len(hashes)) if order is None else order
    if _sort_ties(order, hashes, seq, exp):
        return order
    return np.lexsort((exp, seq, hashes))


def meetings(known: np.ndarray, needles: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All pairs of equal numbers in two sorted lists, as indices into both, block by block.

    >>> [(a.tolist(), b.tolist()) for a, b in meetings(np.array([1, 4, 4]), np.array([0, 4, 9]))]
    [([1, 2], [1, 1])]
    """
    hits, low, times = _stretches(known, needles)
    if len(hits) == 0:
        return
    totals = np.cumsum(times)
    begin = 0
    while begin < len(hits):
        done = int(totals[begin - 1]) if begin else 0
        stop = max(int(np.searchsorted(totals, done + MOST_PAIRS, side="right")), begin + 1)
        total = int(totals[stop - 1]) - done
        yield _unroll(low[begin:stop], times[begin:stop], hits[begin:stop], total)
        begin = stop


@native
def meetings_within(known, numbers, needles, low, high):  # type: ignore[no-untyped-def]
    """Pairs of equal hashes in two sorted lists, as indices into both: for every needle those whose
    numbers are above its `low` and at most its `high`. `known` is sorted by hash, then by number.

    >>> known, numbers = np.array([4, 4, 4, 6]), np.array([1, 2, 3, 2])
    >>> there, needle = meetings_within(known, numbers, np.array([4, 5]), np.ones(2), np.full(2, 9))
    >>> there.tolist(), needle.tolist()
    ([1, 2], [0, 0])
    """
    first = np.empty(len(needles), np.int64)
    last = np.empty(len(needles), np.int64)
    total = 0
    begin = 0
    for i in range(len(needles)):
        if i > 0 and needles[i] != needles[i - 1]:
            begin = first[i - 1]
        first[i] = _reach_pair(known, numbers, begin, needles[i], low[i])
        last[i] = _reach_pair(known, numbers, first[i], needles[i], max(low[i], high[i]))
        total += last[i] - first[i]
    there = np.empty(total, np.int64)
    needle = np.empty(total, np.int64)
    k = 0
    for i in range(len(needles)):
        for j in range(first[i], last[i]):
            there[k] = j
            needle[k] = i
            k += 1
    return there, needle


def numbered(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different values in their order, and the number of every value among them.

    >>> values, numbers = numbered(np.array([5, 9, 5]))
    >>> values.tolist(), numbers.tolist()
    ([5, 9], [0, 1, 0])
    """
    order = stable_order(values)
    if order is None:
        return _numbered(values)
    different, sorted_numbers = _numbered(values[order])
    numbers = np.empty(len(values), np.int64)
    numbers[order] = sorted_numbers
    return different, numbers


@native
def _numbered(values):  # type: ignore[no-untyped-def]
    different = np.empty(len(values), np.int64)
    numbers = np.empty(len(values), np.int64)
    n = 0
    for i in range(len(values)):
        if i == 0 or values[i] != values[i - 1]:
            different[n] = values[i]
            n += 1
        numbers[i] = n - 1
    return different[:n], numbers


def _bits_for(count: int) -> int:
    """So many upper bits that about two hashes share them."""
    return min(max(count.bit_length() - 2, 1), 16)


@native
def _by_upper_bits(hashes, bits):  # type: ignore[no-untyped-def]
    shift = 64 - bits
    half = 1 << (bits - 1)
    starts = np.zeros((1 << bits) + 1, np.int64)
    for h in hashes:
        starts[(h >> shift) + half + 1] += 1
    for b in range(1 << bits):
        starts[b + 1] += starts[b]
    place = starts[:-1].copy()
    order = np.empty(len(hashes), np.int64)
    for k in range(len(hashes)):
        b = (hashes[k] >> shift) + half
        order[place[b]] = k
        place[b] += 1
    for b in range(1 << bits):
        first, last = starts[b], starts[b + 1]
        if last - first > FEW:
            part = order[first:last].copy()
            order[first:last] = part[np.argsort(hashes[part], kind="mergesort")]
            continue
        for i in range(first + 1, last):
            entry = order[i]
            h = hashes[entry]
            j = i - 1
            while j >= first and hashes[order[j]] > h:
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = entry
    return order


@inlined
def _is_after(one, other, seq, exp):  # type: ignore[no-untyped-def]
    return seq[one] > seq[other] or (seq[one] == seq[other] and exp[one] > exp[other])


@native
def _sort_ties(order, hashes, seq, exp):  # type: ignore[no-untyped-def]
    """Sort entries of equal hash by seq and exp; False when too many of one are out of order."""
    first = 0
    for i in range(1, len(order)):
        entry = order[i]
        if hashes[entry] != hashes[order[i - 1]]:
            first = i
            continue
        if not _is_after(order[i - 1], entry, seq, exp):
            continue
        if i - first > FEW:
            return False
        j = i - 1
        while j >= first and _is_after(order[j], entry, seq, exp):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = entry
    return True


@native
def _stretches(known, needles):  # type: ignore[no-untyped-def]
    """The needles that are known, where the first of their equals lies, and how many there are.

    It goes on from where the needle before was found, in steps that double.
    """
    hits = np.empty(len(needles), np.int64)
    low = np.empty(len(needles), np.int64)
    times = np.empty(len(needles), np.int64)
    n = 0
    first = 0
    last = 0
    for i in range(len(needles)):
        v = needles[i]
        if i == 0 or v != needles[i - 1]:
            first = _reach(known, last, v)
            last = first
            while last < len(known) and known[last] == v:
                last += 1
        if last > first:
            hits[n] = i
            low[n] = first
            times[n] = last - first
            n += 1
    return hits[:n], low[:n], times[:n]


@inlined
def _reach(known, at, v):  # type: ignore[no-untyped-def]
    """The first place from `at` on that does not hold less than v."""
    step = 1
    while at + step <= len(known) and known[at + step - 1] < v:
        at += step
        step *= 2
    top = min(at + step - 1, len(known))
    while at < top:
        middle = (at + top) >> 1
        if known[middle] < v:
            at = middle + 1
        else:
            top = middle
    return at


@inlined
def _reach_pair(known, numbers, at, v, number):  # type: ignore[no-untyped-def]
    """The first place from `at` on that holds more than v, or v with more than the number."""
    step = 1
    while at + step <= len(known) and (
        known[at + step - 1] < v or (known[at + step - 1] == v and numbers[at + step - 1] <= number)
    ):
        at += step
        step *= 2
    top = min(at + step - 1, len(known))
    while at < top:
        middle = (at + top) >> 1
        if known[middle] < v or (known[middle] == v and numbers[middle] <= number):
            at = middle + 1
        else:
            top = middle
    return at


@native
def _unroll(low, times, needles, total):  # type: ignore[no-untyped-def]
    there = np.empty(total, np.int64)
    needle = np.empty(total, np.int64)
    k = 0
    for i in range(len(low)):
        for j in range(times[i]):
            there[k] = low[i] + j
            needle[k] = needles[i]
            k += 1
    return there, needle
