"""Trends: whether a value only grows, or only falls, as Now goes on."""

from __future__ import annotations

from enum import Enum

import pyarrow as pa

from millstream.algebra.expressions import Call, Cast, Column, Expression, Literal
from millstream.algebra.now import NOW, reads_now
from millstream.algebra.types import INTERVAL, is_numeric, is_temporal


class Trend(Enum):
    """How a value follows Now, in the sense that is not strict."""

    STILL = 0
    GROWS = 1
    FALLS = -1
    EITHER = 2
    """One of the others for every row, not the same for all."""

    @property
    def turned(self) -> Trend:
        return {Trend.GROWS: Trend.FALLS, Trend.FALLS: Trend.GROWS}.get(self, self)


ROUNDING = frozenset(
    (
        "floor",
        "ceil",
        "round",
        "trunc",
        "cbrt",
        "epoch",
        "unix_seconds",
        "unix_millis",
        "unix_micros",
        "date_trunc",
        "to_date",
        "last_day",
        "date_add",
        "year",
        "timestamp_seconds",
        "timestamp_millis",
        "timestamp_micros",
        "to_timestamp",
    )
)
"""Functions that grow with their only argument that reads Now, and are known wherever it is."""


def trend_of(value: Expression) -> Trend | None:
    """The trend of a value; None if it is not seen that it has one.

    >>> from millstream.algebra.types import INTEGER
    >>> now, x = Column(NOW, INTEGER), Column("x", INTEGER)
    >>> trend_of(Call("-", (x, now), INTEGER)), trend_of(Call("%", (now, x), INTEGER))
    (<Trend.FALLS: -1>, None)
    """
    if not reads_now(value):
        return Trend.STILL
    match value:
        case Column(name=name):
            return Trend.GROWS if name == NOW else Trend.STILL
        case Cast(argument=argument, type=kind):
            return trend_of(argument) if _ordered(kind) and _ordered(argument.type) else None
        case Call(function="+" | "greatest" | "least", arguments=arguments):
            return _together([trend_of(part) for part in arguments])
        case Call(function="-", arguments=(left, right)):
            right_trend = trend_of(right)
            return _together([trend_of(left), None if right_trend is None else right_trend.turned])
        case Call(function="neg", arguments=(inner,)):
            found = trend_of(inner)
            return None if found is None else found.turned
        case Call(function="*", arguments=(left, right)):
            if reads_now(left) and reads_now(right):
                return None
            return _times(*((left, right) if reads_now(left) else (right, left)))
        case Call(function="/" | "div", arguments=(left, right)) if not reads_now(right):
            return _times(left, right)
        case Call(function="datediff", arguments=(left, right)):
            right_trend = trend_of(right)
            return _together([trend_of(left), None if right_trend is None else right_trend.turned])
        case Call(function=function, arguments=arguments) if function in ROUNDING:
            read = [part for part in arguments if reads_now(part)]
            return trend_of(read[0]) if len(read) == 1 else None
    return None


def _together(trends: list[Trend | None]) -> Trend | None:
    """A sum, or the largest or smallest of several: all must go one way."""
    moving = {trend for trend in trends if trend is not Trend.STILL}
    if len(moving) > 1 or (moving == {Trend.EITHER} and trends.count(Trend.EITHER) > 1):
        return None
    return next(iter(moving), Trend.STILL)


def _times(value: Expression, factor: Expression) -> Trend | None:
    trend = trend_of(value)
    if trend is None:
        return None
    match factor:
        case Literal(value=int() | float() as number):
            return trend if number >= 0 else trend.turned
        case Call(function="neg", arguments=(Literal(value=int() | float() as number),)):
            return trend if number <= 0 else trend.turned
    return Trend.EITHER


def _ordered(kind: pa.DataType) -> bool:
    return is_numeric(kind) or is_temporal(kind) or kind == INTERVAL
