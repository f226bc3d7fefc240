"""PartialTopK: the first rows wherever rows lie, before they are sent to one place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from millstream.algebra.node import Distribution
from millstream.operators.top_k import TopK


@dataclass(frozen=True, eq=False)
class PartialTopK(TopK):
    """The first rows of every bucket; a TopK of no more rows stands above.

    Law: what is among the first rows of all is among the first of its bucket, since the order is
    the same, ties included. Which rows there are depends on the buckets, those of the TopK do not.
    State and cost: as in TopK, but beside each other, and few changes are sent on.
    """

    @property
    def required_distribution(self) -> Distribution:
        return None

    @cached_property
    def row_limit(self) -> int | None:
        """As many as there are, for each of the buckets."""
        return None
