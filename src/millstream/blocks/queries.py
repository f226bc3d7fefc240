"""Queries inside blocks, bound: over local tables, whose rows lie in the order of insertion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate
from millstream.algebra.expressions import Expression, name_text

Columns: TypeAlias = tuple[tuple[str, pa.DataType], ...]
"""Names and types."""


@dataclass(frozen=True)
class Local:
    """A table of a routine; `inwindow` is one. `depth` is 1 for a table of the routine around."""

    name: str
    depth: int = 0

    def __str__(self) -> str:
        return f"{'^' * self.depth}{name_text(self.name)}"


@dataclass(frozen=True)
class Stored:
    """A table of the system, which is read-only here: its rows as they stand."""

    name: str
    digest: str
    rows: pa.RecordBatch

    def __str__(self) -> str:
        return f"{name_text(self.name)}@{self.digest}"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stored) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


@dataclass(frozen=True)
class Tabled:
    """A call of a table function: its arguments may name sources before it (a lateral one)."""

    routine: RoutineName
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.routine}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class RoutineName:
    """A routine that blocks call, found in `Routine.calls` of the outermost routine.

    So a routine may call itself, or one around it, and a tree of routines stays finite.
    """

    name: str

    def __str__(self) -> str:
        return name_text(self.name)


@dataclass(frozen=True)
class Source:
    """An entry of FROM. `columns` are those that Fields with its label may name.

    `join` is how it is joined to the entries before it: "cross", or "left", "right", "full" with a
    condition `on`; an inner join is a cross join whose condition stands in WHERE.
    """

    label: int
    of: Local | Stored | Tabled | Query
    columns: Columns
    join: str = "cross"
    on: Expression | None = None

    def __str__(self) -> str:
        on = "" if self.on is None else f" on {self.on}"
        of = f"({self.of})" if isinstance(self.of, (Select, Values, Combined)) else str(self.of)
        return f"{'' if self.join == 'cross' else self.join + ' '}{of} #{self.label}{on}"


@dataclass(frozen=True)
class Ordered:
    """One part of ORDER BY; NULLs come first or last as `nulls_first` says."""

    value: Expression
    descending: bool = False
    nulls_first: bool = True

    def __str__(self) -> str:
        nulls = "first" if self.nulls_first else "last"
        return f"{self.value}{' desc' if self.descending else ''} nulls {nulls}"


@dataclass(frozen=True)
class Called:
    """A call of an aggregate in a Select: a built-in one, or a routine, which is fed in the order
    of `feeding`, then of the rows.

    `columns` are those of its result. A routine may give several rows: they are combined with
    those of the other calls as a product. `newest` keeps what it returns while the last row is
    fed, and by TERMINATE: the base version of an aggregate, computed anew over a window.
    """

    function: Aggregate | RoutineName
    arguments: tuple[Expression, ...]
    columns: Columns
    parameter: float | str | None = None
    distinct: bool = False
    where: Expression | None = None
    feeding: tuple[Ordered, ...] = ()
    newest: bool = False

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.arguments)) or "*"
        extra = "" if self.parameter is None else f"; {self.parameter!r}"
        named = self.function.name if isinstance(self.function, Aggregate) else str(self.function)
        once, only = "distinct " if self.distinct else "", " newest" if self.newest else ""
        order = f" order by {', '.join(map(str, self.feeding))}" if self.feeding else ""
        where = "" if self.where is None else f" where {self.where}"
        return f"{named}({once}{inside}{extra}{order}{where}){only}"


@dataclass(frozen=True)
class Select:
    """A SELECT over sources: filtered, grouped if `keys` is not None, ordered, cut.

    With `calls` and no GROUP BY, `keys` is (), and there is one group, also of no rows; but an
    aggregate of one's own that is fed no row gives none. After grouping, expressions rest on
    `keys` (written out again, equal as expressions) and on Results.
    Without sources there is one row. Rows come in the order of insertion, those of the first
    source slowest.
    """

    sources: tuple[Source, ...]
    outputs: tuple[tuple[str, Expression], ...]
    where: Expression | None = None
    keys: tuple[Expression, ...] | None = None
    calls: tuple[Called, ...] = ()
    having: Expression | None = None
    distinct: bool = False
    order: tuple[Ordered, ...] = ()
    limit: Expression | None = None
    offset: Expression | None = None

    @property
    def columns(self) -> Columns:
        return tuple((name, value.type) for name, value in self.outputs)

    def __str__(self) -> str:
        parts = ["select distinct" if self.distinct else "select"]
        parts.append(", ".join(f"{value} as {name_text(name)}" for name, value in self.outputs))
        parts += ["from " + ", ".join(map(str, self.sources))] if self.sources else []
        parts += [f"where {self.where}"] if self.where is not None else []
        if self.keys is not None:
            parts.append(f"group by {', '.join(map(str, self.keys)) or '()'}")
        parts += [f"calls {', '.join(map(str, self.calls))}"] if self.calls else []
        parts += [f"having {self.having}"] if self.having is not None else []
        parts += [f"order by {', '.join(map(str, self.order))}"] if self.order else []
        parts += [f"limit {self.limit}"] if self.limit is not None else []
        parts += [f"offset {self.offset}"] if self.offset is not None else []
        return " ".join(parts)


@dataclass(frozen=True)
class Values:
    """VALUES (…), (…) WHERE condition: rows of expressions, all of them if the condition holds."""

    columns: Columns
    rows: tuple[tuple[Expression, ...], ...]
    where: Expression | None = None

    def __str__(self) -> str:
        rows = ", ".join(f"({', '.join(map(str, row))})" for row in self.rows)
        return f"values {rows}" + ("" if self.where is None else f" where {self.where}")


@dataclass(frozen=True)
class Combined:
    """UNION, INTERSECT or EXCEPT, ALL or not; types are equal on both sides."""

    operator: str
    all: bool
    left: Query
    right: Query
    order: tuple[tuple[int, bool, bool], ...] = ()
    """By number of column: whether descending, whether NULLs come first."""
    limit: Expression | None = None
    offset: Expression | None = None

    @property
    def columns(self) -> Columns:
        return self.left.columns

    def __str__(self) -> str:
        word = f"{self.operator}{' all' if self.all else ''}"
        cut = f" {self.order} {self.limit} {self.offset}"
        return f"(({self.left}) {word} ({self.right}){cut})"


Query: TypeAlias = Select | Values | Combined
