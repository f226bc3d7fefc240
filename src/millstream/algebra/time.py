"""Instants, time domains, and the span of instants that one step covers."""

from __future__ import annotations

import datetime as dt
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


def spell_instant(instant: int, domain: Domain) -> str:
    """An instant as people write it.

    >>> spell_instant(1_714_557_620_000_000, Domain.TIMESTAMP), spell_instant(7, Domain.INTEGER)
    ('2024-05-01 10:00:20.000', '7')
    """
    if domain is not Domain.TIMESTAMP:
        return str(instant)
    try:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=instant)
    except OverflowError:  # outside the years 1 to 9999
        return str(instant)
    return moment.isoformat(sep=" ", timespec="milliseconds")
