"""The words of expressions: operators, other names of functions, and units."""

from __future__ import annotations

import math

from sqlglot import exp

from millstream.algebra.types import BOOLEAN, DATE, TIMESTAMP

OPERATORS: dict[type, str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "and",
    exp.Or: "or",
    exp.Like: "like",
    exp.DPipe: "concat",
    exp.NullSafeNEQ: "distinct_from",
}
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
READING = {"=", "<>", "<", "<=", ">", ">=", "distinct_from", "+", "-", "coalesce", "nullif"}
"""Where a string constant beside a time or a number is read as one: ts > '2024-01-01'."""
ALIASES = {
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "substr": "substring",
    "mid": "substring",
    "ceiling": "ceil",
    "pow": "power",
    "ucase": "upper",
    "lcase": "lower",
    "ifnull": "coalesce",
    "nvl": "coalesce",
    "log": "ln",
    "truncate": "trunc",
    "mod": "%",
    "startswith": "starts_with",
    "endswith": "ends_with",
    "dayofmonth": "day",
    "date": "to_date",
    "weekofyear": "week",
    "dow": "dayofweek",
    "doy": "dayofyear",
    "signum": "sign",
    "timestamp_trunc": "date_trunc",
    "btrim": "trim",
    "regexp_matches": "regexp_like",
    "rlike": "regexp_like",
    "isnull": "is_null",
    "charindex": "position",
    "locate": "position",
    "replicate": "repeat",
    "date_diff": "datediff",
    "from_unixtime": "to_timestamp",
}
CLOCKS = (
    "current_timestamp",
    "current_date",
    "current_time",
    "now",
    "localtimestamp",
    "clock_timestamp",
    "getdate",
    "getutcdate",
    "localtime",
    "mz_now",
    "proctime",
    "sysdate",
    "systimestamp",
    "utc_timestamp",
)
CONSTANTS = {"pi": math.pi, "e": math.e}
ZONES = ("to_utc_timestamp", "from_utc_timestamp")
"""Functions whose second argument is a time zone."""
UNITS = (
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
)
PARTS = ("epoch", "dow", "dayofweek", "doy", "dayofyear")
EXAMPLES = {TIMESTAMP: "'2024-01-31 12:30:00'", DATE: "'2024-01-31'", BOOLEAN: "TRUE or FALSE"}
