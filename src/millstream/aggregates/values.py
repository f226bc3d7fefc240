"""Aggregates that keep the values of a group, each once with its count."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa

from millstream.aggregates.entries import Entries
from millstream.columns.trace import Trace


class Values(Protocol):
    """A way to compute an aggregate from the values that are present in a group.

    State: the values of every group with their counts, in the order of columns `by`. These are the
    further arguments of the aggregate before the value itself (`by_rest`), or just the arguments.
    """

    @property
    def by_rest(self) -> bool: ...

    def run(
        self,
        trace: Trace,
        weights: np.ndarray,
        groups: np.ndarray,
        values: pa.Array,
        by: tuple[pa.Array, ...],
        present: Entries,
        group_count: int,
        parameter: str | float | None,
    ) -> tuple[pa.Array, Entries]:
        """The result for every row of the trace, and the values present at the end.

        Law: both depend on the values present, not on the order or the cut of the events.
        """
