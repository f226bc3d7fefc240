"""The built-in aggregates: their names, the types they take and give."""

from __future__ import annotations

import pyarrow as pa

from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    is_numeric,
)

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
    "listagg": "string_agg",
    "group_concat": "string_agg",
    "collect_list": "array_agg",
    "list": "array_agg",
    "every": "bool_and",
    "arg_min": "min_by",
    "arg_max": "max_by",
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
    "min_by",
    "max_by",
    "count_distinct",
    "bool_and",
    "bool_or",
    "string_agg",
    "array_agg",
    "collect_set",
)
BY_TIME = ("first", "last", "string_agg", "array_agg")
"""Aggregates that go by the instant and the arrival of the elements of a stream."""

STAMPED = (*BY_TIME, *(alias for alias, name in ALIASES.items() if name in BY_TIME))
"""All names of those."""

DISTINCT = "_distinct"
"""What is added to the name of an aggregate that takes equal values once."""


def result_type(function: str, argument: pa.DataType | None) -> pa.DataType | None:
    """The type an aggregate gives for an argument of that type, or None if it does not take it.

    >>> result_type("avg", INTEGER)
    DataType(double)
    """
    function = function if function in NAMES else function.removesuffix(DISTINCT)
    if function in ("count", "count_distinct"):
        return INTEGER
    if argument is None:
        return None
    if function in ("array_agg", "collect_set"):
        return pa.list_(argument)
    if function == "string_agg":
        return None if pa.types.is_list(argument) else STRING
    if function in ("bool_and", "bool_or"):
        return BOOLEAN if argument == BOOLEAN else None
    numeric = is_numeric(argument) or pa.types.is_null(argument)
    if function == "sum":
        if pa.types.is_decimal(argument):
            return pa.decimal128(38, argument.scale)
        return argument if numeric or argument == INTERVAL else None
    if function in ("min", "max"):
        ordered = (INTEGER, DOUBLE, STRING, TIMESTAMP, DATE, INTERVAL, BOOLEAN)
        return argument if argument in ordered or pa.types.is_decimal(argument) else None
    if function in ("first", "last", "min_by", "max_by"):
        return argument
    return DOUBLE if numeric else None
