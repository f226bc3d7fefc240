"""Intervals that cover others: where a row has partners, and how that changes."""

from __future__ import annotations

import numpy as np

from millstream.columns.native import native

FEW = 64
"""So many entries are sorted faster one by one."""


def changes_of_cover(
    ts: np.ndarray,
    exp: np.ndarray,
    fresh: np.ndarray,
    row: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    weight: np.ndarray,
    added: np.ndarray,
    wanted: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """How the stretches change in which rows are covered (or, if not `wanted`, are not).

    Row r stands from ts[r] until exp[r], and is `fresh` if it was not there before. Cover k lies
    over row[k] from start[k] until end[k] with a weight, and is `added` if it was not there before.
    Gives (row, start, end, +1 or −1) for stretches that enter the answer or leave it.
    """
    rows = np.concatenate([row, row])
    times = np.concatenate([start, end])
    steps = np.concatenate([weight, -weight])
    news = np.concatenate([added, added])
    order = _by_row(rows, times, len(ts))
    return _sweep(ts, exp, fresh, rows[order], times[order], steps[order], news[order], wanted)


@native
def _by_row(rows, times, count):  # type: ignore[no-untyped-def]
    """The order by row, then time: rows are counted out, and the few entries of each are sorted."""
    starts = np.zeros(count + 1, np.int64)
    for r in rows:
        starts[r + 1] += 1
    for r in range(count):
        starts[r + 1] += starts[r]
    place = starts[:-1].copy()
    order = np.empty(len(rows), np.int64)
    for k in range(len(rows)):
        order[place[rows[k]]] = k
        place[rows[k]] += 1
    for r in range(count):
        first, last = starts[r], starts[r + 1]
        if last - first > FEW:
            part = order[first:last].copy()
            order[first:last] = part[np.argsort(times[part], kind="mergesort")]
            continue
        for i in range(first + 1, last):
            entry = order[i]
            j = i - 1
            while j >= first and times[order[j]] > times[entry]:
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = entry
    return order


@native
def _sweep(ts, exp, fresh, rows, times, steps, news, wanted):  # type: ignore[no-untyped-def]
    most = len(rows) + len(ts)
    out_row = np.empty(most, np.int64)
    out_start = np.empty(most, np.int64)
    out_end = np.empty(most, np.int64)
    out_sign = np.empty(most, np.int64)
    n = 0
    k = 0
    for r in range(len(ts)):
        was = np.int64(0)
        now = np.int64(0)
        at = ts[r]
        first = n
        while True:
            while k < len(rows) and rows[k] == r and times[k] <= at:
                now += steps[k]
                if not news[k]:
                    was += steps[k]
                k += 1
            until = exp[r]
            if k < len(rows) and rows[k] == r and times[k] < until:
                until = times[k]
            sign = np.int64((now > 0) == wanted)
            if not fresh[r]:
                sign -= np.int64((was > 0) == wanted)
            if sign != 0 and at < until:
                if n > first and out_end[n - 1] == at and out_sign[n - 1] == sign:
                    out_end[n - 1] = until
                else:
                    out_row[n] = r
                    out_start[n] = at
                    out_end[n] = until
                    out_sign[n] = sign
                    n += 1
            if until >= exp[r]:
                break
            at = until
        while k < len(rows) and rows[k] == r:
            k += 1
    return out_row[:n], out_start[:n], out_end[:n], out_sign[:n]
