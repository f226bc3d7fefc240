"""Values as methods see them: Python's own types, also for instants, days and intervals."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    type_name,
)
from millstream.blocks.general.values import GREATEST, LEAST, Row

EPOCH = datetime(1970, 1, 1)
DAY = EPOCH.date()
TICK = timedelta(microseconds=1)

Change = Callable[[Any], Any]


class Unfit(Exception):
    """A value that is not of the type that is declared."""


@dataclass(frozen=True)
class Kind:
    """A type of values: `seen` makes what a method sees of what a machine holds, `fitting` takes
    what a method gives and answers the value that is meant, `held` makes of it what a machine
    holds. None where they are the same."""

    name: str
    fitting: Change
    seen: Change | None = None
    held: Change | None = None


def _double(value: Any) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise _unfit(value, "float")
    return float(value)


def _integer(value: Any) -> int:
    if type(value) is not int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise _unfit(value, "int")
        value = operator.index(value)
    if not LEAST <= value <= GREATEST:
        raise Unfit("a whole number is too large: it has more than 64 bits")
    return int(value)


def _boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value).__name__ not in ("bool", "bool_"):
        raise _unfit(value, "bool")
    return bool(value)


def _instant(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise _unfit(value, "datetime")
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return value


def _plain(kind: type) -> Change:
    def fitting(value: Any) -> Any:
        if type(value) is kind:
            return value
        if not isinstance(value, kind):
            raise _unfit(value, kind.__name__)
        return kind(value) if kind is str else value

    return fitting


def _day(value: Any) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _unfit(value, "date")
    return value


def _decimal(kind: pa.DataType) -> Change:
    step = Decimal(1).scaleb(-kind.scale)

    def fitting(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, Decimal | int):
            raise _unfit(value, "Decimal")
        rounded = Decimal(value).quantize(step)
        if rounded.adjusted() >= kind.precision - kind.scale and rounded:
            raise Unfit(f"a number does not fit into {type_name(kind)}")
        return rounded

    return fitting


def _unfit(value: Any, wanted: str) -> Unfit:
    return Unfit(f"{_a(wanted)} is declared, and this is {_a(type(value).__name__)}")


def _a(word: str) -> str:
    """
    >>> _a("int"), _a("str")
    ('an int', 'a str')
    """
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


KINDS: dict[pa.DataType, Kind] = {
    DOUBLE: Kind("float", _double),
    INTEGER: Kind("int", _integer),
    STRING: Kind("str", _plain(str)),
    BOOLEAN: Kind("bool", _boolean),
    TIMESTAMP: Kind(
        "datetime", _instant, lambda v: EPOCH + v * TICK, lambda v: (v - EPOCH) // TICK
    ),
    DATE: Kind("date", _day, lambda v: DAY + timedelta(days=v), lambda v: (v - DAY).days),
    INTERVAL: Kind("timedelta", _plain(timedelta), lambda v: v * TICK, lambda v: v // TICK),
}

ANNOTATIONS: dict[type, pa.DataType] = {
    float: DOUBLE,
    int: INTEGER,
    str: STRING,
    bool: BOOLEAN,
    datetime: TIMESTAMP,
    date: DATE,
    timedelta: INTERVAL,
}


def kind_of(kind: pa.DataType) -> Kind | None:
    """How methods see a type; None for one that they cannot be given."""
    if pa.types.is_decimal(kind):
        return Kind("Decimal", _decimal(kind))
    return KINDS.get(kind)


def fitting(kind: pa.DataType) -> Change:
    """Takes a value of a type, or None."""
    made = kind_of(kind)
    assert made is not None
    check = made.fitting
    return lambda value: None if value is None else check(value)


def rows_in(kinds: Sequence[pa.DataType]) -> Change:
    """From a row that a machine holds to a tuple that a method sees."""
    return _by_column([kind.seen for kind in map(kind_of, kinds) if kind is not None])


def rows_out(kinds: Sequence[pa.DataType]) -> Change:
    """From a tuple of fitting values to a row that a machine holds."""
    return _by_column([kind.held for kind in map(kind_of, kinds) if kind is not None])


def _by_column(changes: Sequence[Change | None]) -> Change:
    if not any(changes):
        return lambda row: row

    def changed(row: Row) -> Row:
        return tuple(
            [
                value if change is None or value is None else change(value)
                for value, change in zip(row, changes)
            ]
        )

    return changed
