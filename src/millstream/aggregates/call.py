"""A call of an aggregate in a GROUP BY, with its argument columns and its result."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.algebra.expressions import name_text


@dataclass(frozen=True)
class AggregateCall:
    """`name` = function(arguments) in every group; `parameter` is a constant such as a fraction."""

    name: str
    function: str
    arguments: tuple[str, ...]
    type: pa.DataType
    parameter: float | None = None

    def __str__(self) -> str:
        inside = ", ".join(name_text(a) for a in self.arguments) or "*"
        extra = "" if self.parameter is None else f", {self.parameter!r}"
        return f"{self.function}({inside}{extra}) as {name_text(self.name)}"
