"""An aggregate that keeps the values of a group: how far they lie apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.entries import Entries
from millstream.aggregates.numeric import is_number
from millstream.aggregates.ordered import Ordered, value


@dataclass(frozen=True)
class _Spread:
    by_rest: bool = False

    def run(self, *given: Any) -> tuple[pa.Array, Entries]:
        least, _ = Ordered(0.0, value).run(*given[:-1], None)
        greatest, left = Ordered(1.0, value).run(*given[:-1], None)
        return pc.subtract(greatest, least), left


def _result(argument: pa.DataType | None) -> pa.DataType | None:
    return argument if is_number(argument) else None


SPREAD = Aggregate(
    "spread",
    "spread(x)",
    "the greatest value less the least",
    _result,
    _Spread(),
    ignores_copies=True,
    definition="max(x) - min(x)",
)
