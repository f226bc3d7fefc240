"""Events laid out by group and instant, and what sums up along them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from millstream.columns.order import group_order


@dataclass(frozen=True, eq=False)
class Runs:
    """Events sorted by (group, instant); a run is all events of one group at one instant.

    `order` gives the events, `stops` where each run ends in it, `group` and `instant` what it is of.
    Runs of one group lie together, in time order; groups lie in the order of their numbers.
    """

    order: np.ndarray
    stops: np.ndarray
    group: np.ndarray
    instant: np.ndarray

    @staticmethod
    def of(groups: np.ndarray, instants: np.ndarray, time_order: np.ndarray, count: int) -> Runs:
        order, _ = group_order(groups, time_order, count)
        return Runs(order, *_find_runs(order, groups, instants))

    def __len__(self) -> int:
        return len(self.stops)

    @property
    def last_of_group(self) -> np.ndarray:
        return np.append(self.group[1:] != self.group[:-1], True) if len(self) else self.group > 0

    @property
    def first_of_group(self) -> np.ndarray:
        return np.insert(self.group[1:] != self.group[:-1], 0, True) if len(self) else self.group > 0


@njit(cache=True)
def _find_runs(
    order: np.ndarray, groups: np.ndarray, instants: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(order)
    stops = np.empty(n, np.int64)
    group = np.empty(n, np.int64)
    instant = np.empty(n, np.int64)
    runs = 0
    for k in range(n):
        e = order[k]
        if k + 1 < n:
            f = order[k + 1]
            if groups[f] == groups[e] and instants[f] == instants[e]:
                continue
        stops[runs] = k + 1
        group[runs] = groups[e]
        instant[runs] = instants[e]
        runs += 1
    return stops[:runs].copy(), group[:runs].copy(), instant[:runs].copy()


@njit(cache=True)
def running_counts(
    order: np.ndarray, stops: np.ndarray, group: np.ndarray,
    weights: np.ndarray, valid: np.ndarray, totals: np.ndarray,
) -> np.ndarray:
    """The sum of the weights of valid events at the end of every run; `totals` moves on."""
    out = np.empty(len(stops), np.int64)
    everything = len(valid) == 0
    k = 0
    for r in range(len(stops)):
        total = totals[group[r]]
        while k < stops[r]:
            e = order[k]
            if everything or valid[e]:
                total += weights[e]
            k += 1
        totals[group[r]] = total
        out[r] = total
    return out


@njit(cache=True)
def running_integers(
    order: np.ndarray, stops: np.ndarray, group: np.ndarray, weights: np.ndarray,
    valid: np.ndarray, values: np.ndarray, high: np.ndarray, low: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The exact sum of integers at the end of every run, as high·2³² + low; cannot overflow."""
    out_high = np.empty(len(stops), np.int64)
    out_low = np.empty(len(stops), np.int64)
    everything = len(valid) == 0
    k = 0
    for r in range(len(stops)):
        g = group[r]
        h, s = high[g], low[g]
        while k < stops[r]:
            e = order[k]
            if everything or valid[e]:
                h += weights[e] * (values[e] >> 32)
                s += weights[e] * (values[e] & 0xFFFFFFFF)
                h += s >> 32
                s &= 0xFFFFFFFF
            k += 1
        high[g], low[g] = h, s
        out_high[r], out_low[r] = h, s
    return out_high, out_low


@njit(cache=True, inline="always")
def _add(high, low, x):  # type: ignore[no-untyped-def]
    """Add to a sum of two doubles without losing what the first cannot hold."""
    s = high + x
    b = s - high
    low += (high - (s - b)) + (x - b)
    t = s + low
    return t, low - (t - s)


@njit(cache=True)
def running_floats(
    order: np.ndarray, stops: np.ndarray, group: np.ndarray, weights: np.ndarray,
    valid: np.ndarray, values: np.ndarray, high: np.ndarray, low: np.ndarray, odd: np.ndarray,
) -> np.ndarray:
    """The sum of doubles at the end of every run, with twice the digits of a double inside.

    What enters and leaves again leaves no trace of rounding. NaN and the infinities are counted
    beside the sum (`odd`, three columns), so that a sum recovers when they leave.
    """
    out = np.empty(len(stops), np.float64)
    everything = len(valid) == 0
    k = 0
    for r in range(len(stops)):
        g = group[r]
        h, s = high[g], low[g]
        while k < stops[r]:
            e = order[k]
            k += 1
            if not (everything or valid[e]):
                continue
            x, w = values[e], weights[e]
            if np.isfinite(x):
                for _ in range(abs(w)):
                    h, s = _add(h, s, x if w > 0 else -x)
            elif np.isnan(x):
                odd[g, 0] += w
            elif x > 0:
                odd[g, 1] += w
            else:
                odd[g, 2] += w
        high[g], low[g] = h, s
        out[r] = _spell(h + s, odd[g, 0], odd[g, 1], odd[g, 2])
    return out


@njit(cache=True, inline="always")
def _spell(total, nan, up, down):  # type: ignore[no-untyped-def]
    if nan > 0 or (up > 0 and down > 0):
        return np.nan
    if up > 0:
        return np.inf
    if down > 0:
        return -np.inf
    return total + 0.0


@njit(cache=True)
def running_squares(
    order: np.ndarray, stops: np.ndarray, group: np.ndarray, weights: np.ndarray,
    valid: np.ndarray, values: np.ndarray, sums: np.ndarray, squares: np.ndarray,
    counts: np.ndarray,
) -> np.ndarray:
    """The sum of squared differences from the mean at the end of every run.

    `sums` and `squares` are pairs of doubles per group; the difference Σx² − (Σx)²/n is taken with
    all their digits, so that it does not cancel away.
    """
    out = np.empty(len(stops), np.float64)
    everything = len(valid) == 0
    k = 0
    for r in range(len(stops)):
        g = group[r]
        h, s = sums[g, 0], sums[g, 1]
        qh, qs = squares[g, 0], squares[g, 1]
        n = counts[g]
        while k < stops[r]:
            e = order[k]
            k += 1
            if not (everything or valid[e]):
                continue
            x, w = values[e], weights[e]
            p, err = _product(x, x)
            for _ in range(abs(w)):
                h, s = _add(h, s, x if w > 0 else -x)
                qh, qs = _add(qh, qs, p if w > 0 else -p)
                qh, qs = _add(qh, qs, err if w > 0 else -err)
            n += w
        sums[g, 0], sums[g, 1] = h, s
        squares[g, 0], squares[g, 1] = qh, qs
        counts[g] = n
        out[r] = _spread_around_mean(h, s, qh, qs, n)
    return out


@njit(cache=True, inline="always")
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


@njit(cache=True, inline="always")
def _spread_around_mean(h, s, qh, qs, n):  # type: ignore[no-untyped-def]
    """n·Σx² − (Σx)², over n, in pairs of doubles."""
    if n <= 0:
        return 0.0
    p, err = _product(h, h)
    err += 2.0 * h * s
    ph, pl = _product(qh, float(n))
    pl += qs * n
    d, e = _add(ph, pl, -p)
    d, e = _add(d, e, -err)
    return max(d + e, 0.0) / n
