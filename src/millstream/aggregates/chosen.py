"""The value of one row of the group, chosen by time or by another column."""

from __future__ import annotations

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate, Arity, Parameter, Sorting
from millstream.aggregates.numeric import same
from millstream.aggregates.ordered import Ordered, value

FIRST = Aggregate(
    "first",
    "first(x)",
    "the value that came first of those present; it may be NULL",
    same,
    Ordered(0.0, value, by_rest=True),
    aliases=("first_value",),
    sorting=Sorting.TIME,
    counts_nulls=True,
)
LAST = Aggregate(
    "last",
    "last(x)",
    "the value that came last; it may be NULL",
    same,
    Ordered(1.0, value, by_rest=True),
    aliases=("last_value",),
    sorting=Sorting.TIME,
    counts_nulls=True,
)


def _place(value: object, kind: pa.DataType) -> float | None:
    return float(value) if isinstance(value, int) and 1 <= value < 2**50 else None


NTH_VALUE = Aggregate(
    "nth_value",
    "nth_value(x, 2)",
    "the value that came n-th of those present; it may be NULL, and is while there are fewer",
    same,
    Ordered(-1.0, value, by_rest=True),
    arity=Arity(2, 2, "its place", "nth_value(x, 2)"),
    parameter=Parameter(
        float,
        _place,
        "the place of nth_value must be a constant number, from 1 on",
        "Write nth_value(x, 2).",
    ),
    sorting=Sorting.TIME,
    counts_nulls=True,
)
MIN_BY = Aggregate(
    "min_by",
    "min_by(x, y)",
    "x of the row in which y is least; of several the least x",
    same,
    Ordered(0.0, value, by_rest=True),
    aliases=("arg_min",),
    arity=Arity(2, 2, "what it is the least by", "min_by(name, price)"),
    sorting=Sorting.ARGUMENT,
)
MAX_BY = Aggregate(
    "max_by",
    "max_by(x, y)",
    "x of the row in which y is greatest; of several the greatest x",
    same,
    Ordered(1.0, value, by_rest=True),
    aliases=("arg_max",),
    arity=Arity(2, 2, "what it is the greatest by", "max_by(name, price)"),
    sorting=Sorting.ARGUMENT,
)
