"""Events followed in time: which output row each of them writes, and what sums up along them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from millstream.columns.native import inlined, native

INFINITY = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Trace:
    """Events in the order of time, with their groups and the rows of the output they write.

    A row of the output stands for one group from one instant at which something happened to it
    (`ts`) until the next (`exp`); all events of the group at that instant write it, the last one
    finally. `previous` is the row of the same group before it, or −1; `present` how many rows the
    group has, 0 where it is gone. The first `closing` rows end what groups showed before this
    batch; after them rows lie in the order of time. `latest` is the last row of every group, or −1.
    """

    event: np.ndarray
    group: np.ndarray
    row: np.ndarray
    row_group: np.ndarray
    ts: np.ndarray
    exp: np.ndarray
    previous: np.ndarray
    present: np.ndarray
    latest: np.ndarray
    closing: int

    def __len__(self) -> int:
        return len(self.ts)


def follow(
    groups: np.ndarray,
    instants: np.ndarray,
    weights: np.ndarray,
    first_ends: int,
    counts: np.ndarray,
    shown: np.ndarray,
) -> Trace:
    """Follow events through time. Those before `first_ends` enter, the others leave; each part is
    sorted by instant. `counts`, the rows present in every group, moves on. `shown` says which
    groups have a row from before."""
    return Trace(*_follow(groups, instants, weights, first_ends, counts, shown))


@native
def _follow(groups, instants, weights, first_ends, counts, shown):  # type: ignore[no-untyped-def]
    n = len(groups)
    place, closing = _places(groups, shown)
    event = np.empty(n, np.int32)
    group = np.empty(n, np.int32)
    row = np.empty(n, np.int32)
    most = n + closing
    row_group = np.empty(most, np.int64)
    ts = np.empty(most, np.int64)
    exp = np.empty(most, np.int64)
    previous = np.empty(most, np.int64)
    present = np.empty(most, np.int64)
    latest = np.full(len(counts), -1, np.int64)
    rows = closing
    i = 0
    j = first_ends
    for k in range(n):
        if j >= n or (i < first_ends and instants[i] <= instants[j]):
            e = i
            i += 1
        else:
            e = j
            j += 1
        g = groups[e]
        t = instants[e]
        r = latest[g]
        if r < 0 or ts[r] != t:
            if r >= 0:
                exp[r] = t
            elif place[g] >= 0:
                r = place[g]
                row_group[r] = g
                ts[r] = t
                exp[r] = INFINITY
                previous[r] = -1
                present[r] = counts[g]
            row_group[rows] = g
            ts[rows] = t
            exp[rows] = INFINITY
            previous[rows] = r
            latest[g] = rows
            r = rows
            rows += 1
        counts[g] += weights[e]
        present[r] = counts[g]
        event[k] = e
        group[k] = g
        row[k] = r
    return (
        event,
        group,
        row,
        row_group[:rows],
        ts[:rows],
        exp[:rows],
        previous[:rows],
        present[:rows],
        latest,
        closing,
    )


@native
def _places(groups, shown):  # type: ignore[no-untyped-def]
    """Where the rows lie that close what groups showed before, and how many there are."""
    place = np.full(len(shown), -1, np.int64)
    closing = 0
    for g in groups:
        if shown[g] and place[g] < 0:
            place[g] = closing
            closing += 1
    return place, closing


@native
def running_counts(event, group, row, rows, weights, valid, totals):  # type: ignore[no-untyped-def]
    """The number of valid events present after every row's instant; `totals` moves on."""
    out = np.zeros(rows, np.int64)
    for k in range(len(event)):
        g = group[k]
        if valid[event[k]]:
            totals[g] += weights[event[k]]
        out[row[k]] = totals[g]
    return out


@native
def running_integers(event, group, row, rows, weights, valid, values, upper, top, high, low):  # type: ignore[no-untyped-def]
    """The exact sum of integers of up to 128 bits, as top·2⁶⁴ + high·2³² + low.

    `upper` holds the upper halves of 128-bit values; when it is empty, values have 64 bits.
    """
    out = np.zeros((rows, 2), np.int64)
    everything = len(valid) == 0
    wide = len(upper) > 0
    for k in range(len(event)):
        e = event[k]
        g = group[k]
        if everything or valid[e]:
            w = weights[e]
            x = values[e]
            s = low[g] + w * (x & 0xFFFFFFFF)
            low[g] = s & 0xFFFFFFFF
            s = high[g] + w * ((x >> 32) & 0xFFFFFFFF) + (s >> 32)
            high[g] = s & 0xFFFFFFFF
            top[g] += w * (upper[e] if wide else x >> 63) + (s >> 32)
        out[row[k], 0] = (high[g] << 32) | low[g]
        out[row[k], 1] = top[g]
    return out


@inlined
def add_pair(high, low, x):  # type: ignore[no-untyped-def]
    """Add to a sum of two doubles without losing what the first cannot hold."""
    s = high + x
    b = s - high
    low = low + ((high - (s - b)) + (x - b))
    t = s + low
    return t, low - (t - s)


def two_sum(high: np.ndarray, low: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for columns: sums of two doubles with one more added to each.

    >>> two_sum(np.array([1e16]), np.array([0.0]), np.array([1.0]))
    (array([1.e+16]), array([1.]))
    """
    return add_pair.py_func(high, low, x)


@native
def running_floats(event, group, row, rows, weights, valid, values, sums, odd):  # type: ignore[no-untyped-def]
    """The sum of doubles, with twice the digits of a double inside (`sums`, two columns).

    What enters and leaves again leaves no trace of rounding. NaN and the infinities are counted
    beside the sum (`odd`, three columns), so that a sum recovers when they leave.
    """
    out = np.zeros(rows, np.float64)
    everything = len(valid) == 0
    for k in range(len(event)):
        e = event[k]
        g = group[k]
        if everything or valid[e]:
            x = values[e]
            w = weights[e]
            if x == 0.0:
                pass  # of a subtotal there may be many
            elif np.isfinite(x):
                h = sums[g, 0]
                s = sums[g, 1]
                for _ in range(abs(w)):
                    h, s = add_pair(h, s, x if w > 0 else -x)
                sums[g, 0] = h
                sums[g, 1] = s
            elif np.isnan(x):
                odd[g, 0] += w
            elif x > 0:
                odd[g, 1] += w
            else:
                odd[g, 2] += w
        if odd[g, 0] > 0 or (odd[g, 1] > 0 and odd[g, 2] > 0):
            out[row[k]] = np.nan
        elif odd[g, 1] > 0:
            out[row[k]] = np.inf
        elif odd[g, 2] > 0:
            out[row[k]] = -np.inf
        else:
            out[row[k]] = sums[g, 0] + sums[g, 1] + 0.0
    return out


@native
def running_squares(event, group, row, rows, weights, valid, values, sums, counts, odd):  # type: ignore[no-untyped-def]
    """The sum of squared differences from the mean.

    `sums` holds Σx and Σx² as pairs of doubles per group (four columns); Σx² − (Σx)²/n is taken
    with all their digits, so that it does not cancel away. Values that are not finite are counted
    beside them (`odd`); while there are any, the result is NaN.
    """
    out = np.zeros(rows, np.float64)
    everything = len(valid) == 0
    for k in range(len(event)):
        e = event[k]
        g = group[k]
        if everything or valid[e]:
            x = values[e]
            w = weights[e]
            if np.isfinite(x):
                p, err = _product(x, x)
                sign = 1.0 if w > 0 else -1.0
                for _ in range(abs(w)):
                    sums[g, 0], sums[g, 1] = add_pair(sums[g, 0], sums[g, 1], sign * x)
                    sums[g, 2], sums[g, 3] = add_pair(sums[g, 2], sums[g, 3], sign * p)
                    sums[g, 2], sums[g, 3] = add_pair(sums[g, 2], sums[g, 3], sign * err)
                counts[g] += w
            else:
                odd[g] += w
        if odd[g] > 0:
            out[row[k]] = np.nan
        else:
            out[row[k]] = _around_mean(sums[g, 0], sums[g, 1], sums[g, 2], sums[g, 3], counts[g])
    return out


@inlined
def _product(a, b):  # type: ignore[no-untyped-def]
    """a·b as a double and what rounding took from it (Dekker's splitting)."""
    p = a * b
    c = 134217729.0 * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = 134217729.0 * b
    b_high = c - (c - b)
    b_low = b - b_high
    err = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low
    return p, err if np.isfinite(err) else 0.0


@inlined
def _around_mean(h, s, qh, qs, n):  # type: ignore[no-untyped-def]
    """(n·Σx² − (Σx)²) / n in pairs of doubles."""
    if n <= 0:
        return 0.0
    p, err = _product(h, h)
    err += 2.0 * h * s
    ph, pl = _product(qh, float(n))
    pl += qs * n
    d, e = add_pair(ph, pl, -p)
    d, e = add_pair(d, e, -err)
    return max(d + e, 0.0) / n
