"""Lengths of time as people write them: `5 Minutes`, `1.5 seconds`, `100 ms`, or a bare number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from millstream.errors import MillstreamError, closest

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
CALENDAR_UNITS = ("month", "quarter", "year")
SHORT = {
    "us": "microsecond",
    "ms": "millisecond",
    "sec": "second",
    "secs": "second",
    "min": "minute",
    "mins": "minute",
    "hr": "hour",
    "hrs": "hour",
}
LONGEST = 2**63 - 1


@dataclass(frozen=True)
class Interval:
    """A length of time: microseconds, or the stream's own units when `unit` is None.

    >>> str(Interval(90_000_000, "microsecond")), str(Interval(7, None))
    ('90 SECONDS', '7')
    """

    amount: int
    unit: str | None

    def __str__(self) -> str:
        if self.unit is None:
            return str(self.amount)
        fitting = [name for name, size in MICROSECONDS.items() if self.amount % size == 0]
        name = fitting[-1] if self.amount else "second"
        count = self.amount // MICROSECONDS[name]
        return f"{count} {name.upper()}{'' if count == 1 else 'S'}"


def unit_named(word: str) -> str | None:
    """The unit a word stands for, in the singular; None when it is no unit.

    >>> unit_named("Minutes"), unit_named("ms"), unit_named("years"), unit_named("moons")
    ('minute', 'millisecond', 'year', None)
    """
    word = word.lower()
    if word in SHORT:
        return SHORT[word]
    for name in (word, word.removesuffix("s")):
        if name in MICROSECONDS or name in CALENDAR_UNITS:
            return name
    return None


def known_unit(word: str) -> str:
    """The unit a word stands for, or an error that names the nearest one."""
    unit = unit_named(word)
    if unit is None:
        near = closest(word, [f"{name}s" for name in (*MICROSECONDS, *CALENDAR_UNITS)])
        units = "Units are microseconds, milliseconds, seconds, minutes, hours, days and weeks."
        raise MillstreamError(
            f'unit "{word}" does not exist', hint=f"Did you mean {near}?" if near else units
        )
    return unit


def interval_of_parts(parts: list[tuple[str, str]]) -> Interval:
    """The sum of amounts with units, in microseconds."""
    total = sum((_microseconds(amount, unit) for amount, unit in parts), Decimal(0))
    if total != int(total):
        raise MillstreamError(
            "a length of time cannot be finer than a microsecond",
            hint="Round it to microseconds.",
        )
    if abs(total) > LONGEST:
        raise MillstreamError(
            "a length of time cannot be longer than 292,000 years", hint="Write Unbounded instead."
        )
    return Interval(int(total), "microsecond")


def interval_from_text(text: str) -> Interval:
    """Read a length of time from text, such as the value of an option.

    >>> interval_from_text("1 hour 30 minutes").amount, interval_from_text("12")
    (5400000000, Interval(amount=12, unit=None))
    """
    if re.fullmatch(r"\s*\d{1,18}\s*", text):
        return Interval(int(text), None)
    return interval_of_parts(split_parts(text))


def split_parts(text: str) -> list[tuple[str, str]]:
    """Cut `1 hour 30 minutes` into amounts and words; an error when it is not of that form."""
    parts = re.findall(r"([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)", text)
    if not parts or re.sub(r"[+-]?\d+(?:\.\d+)?\s*[A-Za-z]+[\s,]*", "", text).strip():
        raise MillstreamError(
            f'"{text}" is not a length of time', hint="Write it as '5 minutes' or '1 day 2 hours'."
        )
    return parts


def interval_of(node: exp.Interval) -> Interval:
    """The fixed length of an INTERVAL expression; months and years are an error."""
    unit = node.args.get("unit")
    if unit is None:
        return interval_of_parts(split_parts(node.this.name))
    return interval_of_parts([(node.this.name, unit.name)])


def _microseconds(amount: str, word: str) -> Decimal:
    unit = known_unit(word)
    if unit in CALENDAR_UNITS:
        raise MillstreamError(
            f"a {unit} has no fixed length",
            hint="Write the length in days, for example 30 days.",
        )
    return Decimal(amount) * MICROSECONDS[unit]
