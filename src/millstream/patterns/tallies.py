"""Aggregates over the rows of an element, and what computes those that no search can count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import name_text
from millstream.algebra.types import DOUBLE, INTEGER
from millstream.blocks.machine import Failure
from millstream.blocks.routine import Routine
from millstream.patterns.postfix import WORDS
from millstream.patterns.sequence_search import (
    AVG,
    AVG_FLOAT,
    COUNT,
    MAX,
    MAX_FLOAT,
    MIN,
    MIN_FLOAT,
    ROWS,
    SUM,
    SUM_FLOAT,
)


@dataclass(frozen=True)
class OwnCall:
    """A call of an aggregate of one's own over the rows of an element: a column of what it returns
    last while the last row is fed, and by TERMINATE; NULL if that is nothing."""

    name: str
    routine: Routine
    arguments: tuple[str, ...]
    column: int = 0

    @property
    def type(self) -> pa.DataType:
        return self.routine.returns[self.column][1]

    @property
    def function(self) -> str:
        return self.routine.name

    @property
    def parameter(self) -> None:
        return None

    def __str__(self) -> str:
        inside = ", ".join(name_text(a) for a in self.arguments) or "*"
        called = f"own {name_text(repr(self.routine))}({inside})"
        return f"{called} column {self.column} as {name_text(self.name)}"


@dataclass(frozen=True)
class Tally:
    """An aggregate over the rows of an element so far, or over the last of them: `rows` before the
    current one. `argument` is the type of what it takes, if it takes something."""

    element: str
    call: AggregateCall | OwnCall
    argument: pa.DataType | None = None
    rows: int | None = None

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def function(self) -> str:
        """What is computed, by a name that no other aggregate has."""
        if isinstance(self.call, OwnCall):
            return f"{self.call.routine!r} {self.call.column}"
        return self.call.function

    @property
    def kind(self) -> int | None:
        """What the search counts for it; None if its rows have to be looked at again."""
        if self.rows is not None or isinstance(self.call, OwnCall):
            return None
        return kind_of(self.call, self.argument)

    @property
    def counts_rows(self) -> bool:
        """Whether it is the number of rows of the element."""
        return self.kind == ROWS

    @property
    def of_nothing(self) -> int | None:
        """What it is over no rows."""
        return None if isinstance(self.call, OwnCall) else self.call.aggregate.of_nothing

    def over_nothing(self, values: pa.Array, empty: np.ndarray) -> pa.Array:
        """Values with what it is over no rows where there are none."""
        if self.of_nothing is None or not empty.any():
            return values
        nothing = pa.scalar(self.of_nothing, values.type)
        return pc.if_else(pa.array(empty), nothing, values)

    def __str__(self) -> str:
        within = "" if self.rows is None else f" over {self.rows}"
        return f"{self.call} of {name_text(self.element)}{within}"


def kind_of(call: AggregateCall, argument: pa.DataType | None) -> int | None:
    """How the search counts an aggregate, if it can."""
    if len(call.arguments) > 1 or call.parameter is not None:
        return None
    floating = call.type == DOUBLE
    match call.function:
        case "count":
            return COUNT if call.arguments else ROWS
        case "sum" if call.type in (INTEGER, DOUBLE):
            return SUM_FLOAT if floating else SUM
        case "min" | "max" if call.type in WORDS or floating:
            low, high = (MIN_FLOAT, MAX_FLOAT) if floating else (MIN, MAX)
            return low if call.function == "min" else high
        case "avg" if argument in (INTEGER, DOUBLE):
            return AVG_FLOAT if argument == DOUBLE else AVG
    return None


class Measured(NamedTuple):
    """What an aggregate is after every event that was asked about, and the events that an
    aggregate of one's own could not take."""

    values: pa.Array
    failures: list[tuple[str, Failure]]


Measure = Callable[[Tally, pa.RecordBatch, np.ndarray, np.ndarray, "np.ndarray | None"], Measured]
"""Computes an aggregate over spans of rows: event i is the row `index[i]`, and those of span s lie
from `starts[s]` to `starts[s + 1]`. The mask says after which events its value counts."""
