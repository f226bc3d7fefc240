"""Expressions that stand in blocks only: arguments, columns of tables, subqueries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.algebra.expressions import Expression, name_text
from millstream.algebra.types import BOOLEAN, INTEGER

if TYPE_CHECKING:
    from millstream.blocks.queries import Query


@dataclass(frozen=True)
class Argument(Expression):
    """The argument of a routine. `depth` is 0 for the routine itself, 1 for the one around it."""

    name: str
    type: pa.DataType
    depth: int = 0

    def __str__(self) -> str:
        return f"{'^' * self.depth}{name_text(self.name)}"


@dataclass(frozen=True)
class Field(Expression):
    """A column of a row of a source; `label` is that of the source, unique in its statement.

    A field of a source of a query around is what makes a subquery correlated.
    """

    label: int
    name: str
    type: pa.DataType

    def __str__(self) -> str:
        return f"#{self.label}.{name_text(self.name)}"


@dataclass(frozen=True)
class Result(Expression):
    """A column of the result of an aggregate call of a query: `Select.calls[call]`."""

    call: int
    name: str
    type: pa.DataType

    def __str__(self) -> str:
        return f"@{self.call}.{name_text(self.name)}"


@dataclass(frozen=True)
class Oldest(Expression):
    """A column of the oldest tuple in `inwindow`; NULL where that is empty."""

    name: str
    type: pa.DataType

    def __str__(self) -> str:
        return f"oldest().{name_text(self.name)}"


@dataclass(frozen=True)
class SqlCode(Expression):
    """0 when the last statement of the instance touched a row, 1 when it did not; 0 before."""

    type: pa.DataType = INTEGER

    def __str__(self) -> str:
        return "sqlcode"


@dataclass(frozen=True)
class Scalar(Expression):
    """The one column of the first row of a query; NULL where there is none."""

    query: Query
    type: pa.DataType

    def __str__(self) -> str:
        return f"({self.query})"


@dataclass(frozen=True)
class Exists(Expression):
    """Whether a query has a row."""

    query: Query
    type: pa.DataType = BOOLEAN

    def __str__(self) -> str:
        return f"exists ({self.query})"


@dataclass(frozen=True)
class Among(Expression):
    """`value IN (query)`, with SQL's three values; the query has one column of the same type."""

    value: Expression
    query: Query
    type: pa.DataType = BOOLEAN

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.value,)

    def __str__(self) -> str:
        return f"({self.value} in ({self.query}))"


@dataclass(frozen=True)
class Quantified(Expression):
    """`value <operator> ANY | ALL (query)`, with SQL's three values."""

    operator: str
    every: bool
    value: Expression
    query: Query
    type: pa.DataType = BOOLEAN

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.value,)

    def __str__(self) -> str:
        word = "all" if self.every else "any"
        return f"({self.value} {self.operator} {word} ({self.query}))"
