"""Runs of whole numbers: the remainders by a period at which something happens."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

Runs = tuple[tuple[int, int], ...]
"""Stretches of whole numbers, from the first to the last, in order, apart from each other."""


def runs_where(mask: np.ndarray, start: int, every: int) -> Runs:
    """The remainders at which a pattern holds, of which `mask` shows one turn from `start` on."""
    turned = np.roll(mask, start % every)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], turned, [False]])))
    return tuple((int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2]))


def series_of(first: int, last: int, step: int) -> Runs:
    """The runs from the first number to the last in steps."""
    if step == 1:
        return ((first, last),)
    return tuple((number, number) for number in range(first, last + 1, step))


def as_series(runs: Runs) -> list[tuple[int, int, int]]:
    """The runs as (first, last, step): single numbers at equal distances are put together."""
    made: list[tuple[int, int, int]] = []
    for first, last in runs:
        a, b, step = made[-1] if made else (0, 0, 0)
        alone = first == last and bool(made)
        if alone and (step > 1 or a == b) and first - b == (step if step > 1 else first - b):
            made[-1] = a, first, first - b
        else:
            made.append((first, last, 1))
    return [part for found in made for part in _apart(found)]


def either(a: Runs, b: Runs, every: int) -> Runs:
    return joined((*a, *b))


def both(a: Runs, b: Runs, every: int) -> Runs:
    return _others(joined((*_others(a, every), *_others(b, every))), every)


def first_only(a: Runs, b: Runs, every: int) -> Runs:
    return both(a, _others(b, every), every)


def joined(runs: Iterable[tuple[int, int]]) -> Runs:
    """Runs that touch or overlap as one."""
    made: list[tuple[int, int]] = []
    for first, last in sorted(runs):
        if made and first <= made[-1][1] + 1:
            made[-1] = made[-1][0], max(made[-1][1], last)
        else:
            made.append((first, last))
    return tuple(made)


def shortest(every: int, runs: Runs) -> tuple[int, Runs]:
    """The same pattern with the shortest period."""
    if runs == ((0, every - 1),):
        return 1, ((0, 0),)
    for prime in _primes(every):
        while every % prime == 0 and _repeats(every // prime, every, runs):
            every //= prime
            runs = joined((max(a, 0), min(b, every - 1)) for a, b in runs if a < every)
    return every, runs


def _others(runs: Runs, every: int) -> Runs:
    """The remainders that are in none of the runs."""
    edges = [-1, *(edge for run in runs for edge in run), every]
    gaps = zip(edges[::2], edges[1::2])
    return tuple((a + 1, b - 1) for a, b in gaps if a + 1 < b)


def _apart(series: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Two numbers are written one by one."""
    first, last, step = series
    return [series] if step == 1 or last - first > step else [(first, first, 1), (last, last, 1)]


def _repeats(step: int, every: int, runs: Runs) -> bool:
    """Whether the pattern is the same when it is moved by a step."""
    cells = np.array(runs, np.int64)
    wide = int((cells[:, 1] - cells[:, 0] + 1).sum())
    if wide * step % every:
        return False
    moved = []
    for a, b in runs:
        a, b = a + step, b + step
        if a >= every:
            moved.append((a - every, b - every))
        elif b >= every:
            moved += [(a, every - 1), (0, b - every)]
        else:
            moved.append((a, b))
    return joined(moved) == runs


def _primes(number: int) -> list[int]:
    found, divisor = [], 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            found.append(divisor)
            while number % divisor == 0:
                number //= divisor
        divisor += 1
    return [*found, number] if number > 1 else found
