"""Bundles of rows with weights as fewer rows that have the same counts, sums and extremes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

LARGEST = 2.0**62


@dataclass(frozen=True, eq=False)
class Bundles:
    """Rows that belong together: `order` puts them side by side, `starts` is where each begins."""

    order: np.ndarray
    starts: np.ndarray
    weights: np.ndarray

    @staticmethod
    def of(order: np.ndarray, starts: np.ndarray, weights: np.ndarray) -> Bundles:
        return Bundles(order, starts, weights[order])

    @property
    def first(self) -> np.ndarray:
        """The first row of every bundle."""
        return self.order[self.starts]

    @cached_property
    def size(self) -> np.ndarray:
        """The weight of every bundle."""
        return np.add.reduceat(self.weights, self.starts)

    def counts(self, valid: np.ndarray | None) -> np.ndarray:
        """The weight of the valid rows of every bundle."""
        if valid is None:
            return self.size
        return np.add.reduceat(np.where(valid[self.order], self.weights, 0), self.starts)

    def sums(self, values: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
        return np.add.reduceat(self._known(values, valid, 0) * self.weights, self.starts)

    def least(self, values: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
        most = np.iinfo(np.int64).max
        return np.minimum.reduceat(self._known(values, valid, most), self.starts)

    def greatest(self, values: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
        least = np.iinfo(np.int64).min
        return np.maximum.reduceat(self._known(values, valid, least), self.starts)

    def fits(self, values: np.ndarray, valid: np.ndarray | None) -> bool:
        """Whether no sum can leave the range of 64 bits."""
        known = values if valid is None else values[valid]
        largest = float(np.abs(known.astype(np.float64)).max(initial=0.0))
        return largest * float(self.size.max(initial=0)) < LARGEST

    def cut(self, columns: Sequence[Steps]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that stand for all columns at once: bundle, place in it, and weight of each."""
        ends = [np.zeros_like(self.size), self.size, *(end for c in columns for end in c.ends)]
        places = np.sort(np.stack(ends), axis=0)
        widths = np.diff(places, axis=0)
        bundle, piece = np.nonzero(widths.T > 0)
        return bundle, places[piece, bundle], widths[piece, bundle]

    def _known(self, values: np.ndarray, valid: np.ndarray | None, other: int) -> np.ndarray:
        values = values if valid is None else np.where(valid, values, other)
        return values[self.order]


@dataclass(frozen=True, eq=False)
class Steps:
    """A column of every bundle as a few values: value i up to the place `ends[i]`, then NULL."""

    ends: tuple[np.ndarray, ...]
    values: tuple[np.ndarray, ...]

    def at(self, bundle: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values at places of bundles, and where they are NULL."""
        step = np.zeros(len(place), np.int64)
        for end in self.ends:
            step += end[bundle] <= place
        table = np.stack([*self.values, self.values[0]])
        return table[step, bundle], step == len(self.values)


def same_count(count: np.ndarray, example: np.ndarray) -> Steps:
    """As many values."""
    return Steps((count,), (example,))


def same_sum(count: np.ndarray, total: np.ndarray) -> Steps:
    """As many values with the same sum: those next to their mean.

    >>> steps = same_sum(np.array([5]), np.array([26]))
    >>> [int(e[0]) for e in steps.ends], [int(v[0]) for v in steps.values]
    ([4, 5], [5, 6])
    """
    mean, rest = np.divmod(total, np.maximum(count, 1))
    return Steps((count - rest, count), (mean, mean + 1))


def same_ends(count: np.ndarray, least: np.ndarray, greatest: np.ndarray) -> Steps:
    """As many values with the same least and greatest one."""
    return Steps((np.maximum(count - 1, 0), count), (least, greatest))


def same_sum_and_ends(
    count: np.ndarray, total: np.ndarray, least: np.ndarray, greatest: np.ndarray
) -> Steps:
    """As many values with the same sum, least and greatest one: the others lie between these."""
    inner = np.maximum(count - 2, 0)
    rest = np.where(inner > 0, total - least - greatest, 0)
    mean, more = np.divmod(rest, np.maximum(inner, 1))
    first = np.minimum(count, 1)
    ends = (first, first + inner - more, first + inner, count)
    return Steps(ends, (least, mean, mean + 1, greatest))
