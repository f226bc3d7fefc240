"""A call of an aggregate in a GROUP BY, with its argument columns and its result."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate
from millstream.algebra.expressions import Literal, name_text
from millstream.algebra.types import STRING


@dataclass(frozen=True)
class AggregateCall:
    """`name` = aggregate(arguments) in every group.

    `parameter` is a constant: the fraction of a quantile, or what stands between texts.
    """

    name: str
    aggregate: Aggregate
    arguments: tuple[str, ...]
    type: pa.DataType
    parameter: float | str | None = None

    @property
    def function(self) -> str:
        """The name of the aggregate."""
        return self.aggregate.name

    def __str__(self) -> str:
        inside = ", ".join(name_text(a) for a in self.arguments) or "*"
        constant = self.parameter
        shown = Literal(constant, STRING) if isinstance(constant, str) else repr(constant)
        extra = "" if constant is None else f", {shown}"
        return f"{self.function}({inside}{extra}) as {name_text(self.name)}"
