"""Instants, time domains, and the span of instants that one step covers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

INFINITY = 2**63 - 1
"""The instant that never comes: `exp` of a row whose end is not known."""

DAWN = -(2**62)
"""Before every instant: where a clock stands that nothing is known of yet."""


class Domain(Enum):
    """What an instant counts."""

    TIMESTAMP = "timestamp"
    INTEGER = "integer"
    ARRIVAL = "arrival"

    @property
    def words(self) -> str:
        return {
            Domain.TIMESTAMP: "timestamps, in microseconds",
            Domain.INTEGER: "the units of an integer column",
            Domain.ARRIVAL: "arrivals, one by one",
        }[self]


@dataclass(frozen=True)
class Span:
    """The instants after `start` up to and including `end`, which one step covers completely.

    `begin` is the first instant of the query's time, or None while no input has had an element.
    """

    start: int
    end: int
    begin: int | None
