"""The built-in aggregates: their names, the types they take and give."""

from __future__ import annotations

import pyarrow as pa

from millstream.algebra.types import DATE, DOUBLE, INTEGER, INTERVAL, STRING, TIMESTAMP, is_numeric

ALIASES = {
    "mean": "avg",
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
    "percentile": "quantile",
    "percentile_cont": "quantile",
    "first_value": "first",
    "last_value": "last",
    "approx_count_distinct": "count_distinct",
}
NAMES = (
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "var_samp",
    "var_pop",
    "stddev_samp",
    "stddev_pop",
    "median",
    "quantile",
    "first",
    "last",
    "count_distinct",
)


def result_type(function: str, argument: pa.DataType | None) -> pa.DataType | None:
    """The type an aggregate gives for an argument of that type, or None if it does not take it.

    >>> result_type("avg", INTEGER)
    DataType(double)
    """
    if function in ("count", "count_distinct"):
        return INTEGER
    if argument is None:
        return None
    numeric = is_numeric(argument) or pa.types.is_null(argument)
    if function == "sum":
        if pa.types.is_decimal(argument):
            return pa.decimal128(38, argument.scale)
        return argument if numeric or argument == INTERVAL else None
    if function in ("min", "max"):
        ordered = (INTEGER, DOUBLE, STRING, TIMESTAMP, DATE, INTERVAL, pa.bool_())
        return argument if argument in ordered or pa.types.is_decimal(argument) else None
    if function in ("first", "last"):
        return argument
    return DOUBLE if numeric else None
