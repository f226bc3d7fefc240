"""Aggregates that follow from running totals: a few numbers per group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.aggregates.totals import COUNT, Total

Finish = Callable[[np.ndarray, tuple[np.ndarray, ...], pa.DataType, pa.DataType], pa.Array]
"""The result from the counts, the values of the other total, and the types of argument and result;
one for every row of a trace."""


@dataclass(frozen=True)
class Running:
    """A way to compute an aggregate from the count of its values and one more total, if any.

    State: these totals, shared with other aggregates of the same argument.
    """

    total: Callable[[pa.DataType], Total] | None
    finish: Finish

    def totals(self, argument: pa.DataType) -> tuple[Total, ...]:
        """What is kept for an argument of a type: the count comes first."""
        return (COUNT,) if self.total is None else (COUNT, self.total(argument))


def is_empty(counts: np.ndarray) -> np.ndarray | None:
    """Where there is nothing to add up; None when there always is something."""
    none = counts <= 0
    return none if none.any() else None
