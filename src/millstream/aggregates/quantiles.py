"""Values at a fraction of the way from the least to the greatest: median and quantile."""

from __future__ import annotations

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate, Arity, Parameter
from millstream.aggregates.numeric import double_of_number
from millstream.aggregates.ordered import Ordered, between
from millstream.algebra.types import is_numeric


def _fraction(value: object, kind: pa.DataType) -> float | None:
    if not is_numeric(kind) or value is None:
        return None
    fraction = float(value)  # type: ignore[arg-type]
    return fraction if 0 <= fraction <= 1 else None


MEDIAN = Aggregate(
    "median",
    "median(x)",
    "the value in the middle",
    double_of_number,
    Ordered(0.5, between),
)
QUANTILE = Aggregate(
    "quantile",
    "quantile(x, 0.9)",
    "the value at a constant fraction from 0 to 1",
    double_of_number,
    Ordered(None, between),
    aliases=("percentile", "percentile_cont"),
    arity=Arity(2, 2, "a fraction", "quantile(price, 0.9)"),
    parameter=Parameter(
        float,
        _fraction,
        "the fraction of a quantile must be a constant from 0 to 1",
        "Write 0.9 for the value that 90 % are at or below.",
    ),
)
