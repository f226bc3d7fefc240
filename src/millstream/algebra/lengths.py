"""Lengths of time as a person writes them: `1 minute`, and bare numbers where instants are such."""

from __future__ import annotations

from millstream.algebra.time import Domain

UNITS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
"""The units of lengths in timestamps, in microseconds, from the longest on."""


def in_unit(length: int) -> tuple[int, str]:
    """A number of microseconds in the longest unit of which it is a multiple.

    >>> in_unit(90_000_000), in_unit(3_600_000_000), in_unit(0)
    ((90, 'seconds'), (1, 'hour'), (0, 'seconds'))
    """
    unit = "second"
    if length:
        unit = next(unit for unit, size in UNITS.items() if length % size == 0)
    amount = length // UNITS[unit]
    return amount, unit if amount == 1 else f"{unit}s"


def length_text(length: int, domain: Domain | None) -> str:
    """A length in plan text: with a unit in timestamps, a bare number elsewhere.

    >>> length_text(60_000_000, Domain.TIMESTAMP), length_text(60, Domain.INTEGER)
    ('1 minute', '60')
    """
    if domain is not Domain.TIMESTAMP:
        return str(length)
    amount, unit = in_unit(length)
    return f"{amount} {unit}"


def unit_size(word: str) -> int | None:
    """How many microseconds the unit has, in singular or plural; None for another word."""
    return UNITS.get(word.lower().removesuffix("s"))
