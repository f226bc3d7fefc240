"""How the search goes on after a failure: what is known of the rows an attempt has taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.patterns.sequence_search import NEXT


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of the search, as `sequence_search.search` reads them."""

    restarts: np.ndarray
    resumes: np.ndarray
    keeps: np.ndarray
    trims: bool

    @staticmethod
    def naive(elements: int) -> Tables:
        """One tuple after the start of the attempt, whatever is known."""
        again = np.full((3, elements), 1 << NEXT, np.int64)
        none = np.zeros((3, elements), np.int64)
        return Tables(again, none, again[0], False)

    @staticmethod
    def of(sequence: Any) -> Tables:
        return Tables.naive(len(sequence.elements))
