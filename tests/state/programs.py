"""Small native programs over ordered runs, and what they come to in plain Python."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numba import njit

from millstream.state.program import Program, Slot

Row = tuple[int, str | None, float | None]
"""An instant, a key and a value, in the order of arrival."""


@njit(cache=True)
def _decay(order, columns, slots, rate):  # type: ignore[no-untyped-def]
    values, valid = columns[0]
    mean, weight, last = slots
    out = np.full(order.arrivals, np.nan)
    for p in range(len(order.starts) - 1):
        for k in range(order.starts[p], order.starts[p + 1]):
            e = order.event[k]
            if valid[e]:
                fade = rate ** (order.instant[e] - last[p])
                weight[p] = weight[p] * fade + 1
                mean[p] += (values[e] - mean[p]) / weight[p]
                last[p] = order.instant[e]
            out[e] = mean[p]
    return (out,)


DECAY = Program(_decay, (Slot("mean", float), Slot("weight", float), Slot("last", np.int64)))
"""The average in which a value counts less and less, by a rate per unit of time."""


def decay(rows: list[Row], rate: float) -> list[float]:
    found, known = [], defaultdict(lambda: (0.0, 0.0, 0))
    for ts, key, value in rows:
        mean, weight, last = known[key]
        if value is not None:
            weight = weight * rate ** (ts - last) + 1
            mean, last = mean + (value - mean) / weight, ts
        known[key] = mean, weight, last
        found.append(mean)
    return found


@njit(cache=True)
def _trail(order, columns, slots):  # type: ignore[no-untyped-def]
    values, valid = columns[0]
    trail, inside, total = slots
    out = np.zeros((2, len(order.event)))
    for p in range(len(order.starts) - 1):
        for k in range(order.starts[p], order.starts[p + 1]):
            e = order.event[k]
            arrives = e < order.arrivals
            x = values[e] if valid[e] else 0.0
            inside[p] += 1 if arrives else -1
            total[p] += x if arrives else -x
            trail[p] = (trail[p] * 31 + 2 * x + arrives) % 1_000_003 if inside[p] else 0
            out[0, e] = trail[p]
            out[1, e] = total[p]
    return out[0], out[1]


TRAIL = Program(
    _trail,
    (Slot("trail", float), Slot("inside", np.int64), Slot("total", float)),
    over=lambda slots: slots["inside"] == 0,
)
"""The sum over a window, and a number that depends on all that came and went since the window was
empty, and on the order of it."""


class Trail:
    """The same for one partition, event by event."""

    def __init__(self) -> None:
        self.trail, self.total, self.inside = 0.0, 0.0, 0

    def take(self, value: float | None, arrives: bool) -> tuple[float, float]:
        x = 0.0 if value is None else value
        self.inside += 1 if arrives else -1
        self.total += x if arrives else -x
        self.trail = (self.trail * 31 + 2 * x + arrives) % 1_000_003 if self.inside else 0
        return self.trail, self.total


def trail_over_time(rows: list[Row], length: int) -> list[tuple[float, float]]:
    """At every arrival: what is older than the length leaves first, the oldest first."""
    found = []
    known: dict[str | None, Trail] = defaultdict(Trail)
    held: dict[str | None, list[tuple[int, float | None]]] = defaultdict(list)
    for ts, key, value in rows:
        while held[key] and held[key][0][0] + length < ts:
            known[key].take(held[key].pop(0)[1], False)
        found.append(known[key].take(value, True))
        held[key].append((ts, value))
    return found


def trail_over_rows(rows: list[Row], count: int) -> list[tuple[float, float]]:
    """At every arrival: the one before the last `count` leaves first."""
    found = []
    known: dict[str | None, Trail] = defaultdict(Trail)
    held: dict[str | None, list[float | None]] = defaultdict(list)
    for _, key, value in rows:
        if len(held[key]) == count:
            known[key].take(held[key].pop(0), False)
        found.append(known[key].take(value, True))
        held[key].append(value)
    return found
