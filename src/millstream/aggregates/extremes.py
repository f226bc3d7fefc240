"""The least and the greatest value: min, max, bool_and, bool_or."""

from __future__ import annotations

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate, Combining, Keeps
from millstream.aggregates.ordered import Ordered, value
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
)

ORDERED = (INTEGER, DOUBLE, STRING, TIMESTAMP, DATE, INTERVAL, BOOLEAN)
ENDS = Combining(Keeps.ENDS, (INTEGER, INTERVAL, TIMESTAMP, DATE))


def _of_ordered(argument: pa.DataType | None) -> pa.DataType | None:
    ordered = argument in ORDERED or (argument is not None and pa.types.is_decimal(argument))
    return argument if ordered else None


def _of_boolean(argument: pa.DataType | None) -> pa.DataType | None:
    return BOOLEAN if argument == BOOLEAN else None


MIN = Aggregate(
    "min",
    "min(x)",
    "the least value",
    _of_ordered,
    Ordered(0.0, value),
    ignores_copies=True,
    combines=ENDS,
)
MAX = Aggregate(
    "max",
    "max(x)",
    "the greatest value",
    _of_ordered,
    Ordered(1.0, value),
    ignores_copies=True,
    combines=ENDS,
)
BOOL_AND = Aggregate(
    "bool_and",
    "bool_and(x)",
    "whether all are true",
    _of_boolean,
    Ordered(0.0, value),
    aliases=("every",),
    ignores_copies=True,
)
BOOL_OR = Aggregate(
    "bool_or",
    "bool_or(x)",
    "whether any is true",
    _of_boolean,
    Ordered(1.0, value),
    ignores_copies=True,
)
