"""An example of every aggregate, and its value: for SHOW FUNCTIONS, DESCRIBE and the command line.

The rows are three bids, in this order: `item` lamp for a `price` of 20, vase for 5, lamp for 35.
"""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, str]] = {
    "count": ("count(*)", "3"),
    "sum": ("sum(price)", "60.0"),
    "avg": ("avg(price)", "20.0"),
    "min": ("min(price)", "5.0"),
    "max": ("max(price)", "35.0"),
    "var_samp": ("var_samp(price)", "225.0"),
    "var_pop": ("var_pop(price)", "150.0"),
    "stddev_samp": ("stddev_samp(price)", "15.0"),
    "stddev_pop": ("stddev_pop(price)", "12.24744871391589"),
    "median": ("median(price)", "20.0"),
    "quantile": ("quantile(price, 0.75)", "27.5"),
    "first": ("first(price)", "20.0"),
    "last": ("last(price)", "35.0"),
    "nth_value": ("nth_value(price, 2)", "5.0"),
    "min_by": ("min_by(item, price)", "vase"),
    "max_by": ("max_by(item, price)", "lamp"),
    "count_distinct": ("count(DISTINCT item)", "2"),
    "bool_and": ("bool_and(price > 10)", "false"),
    "bool_or": ("bool_or(price > 10)", "true"),
    "string_agg": ("string_agg(item, ', ')", "lamp, vase, lamp"),
    "array_agg": ("array_agg(price)", "[20.0,5.0,35.0]"),
    "collect_set": ("collect_set(item)", '["lamp","vase"]'),
}
