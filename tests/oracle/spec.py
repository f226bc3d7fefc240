"""What a case is: streams with their rows, tables, derived streams and queries, as plain data."""

from dataclasses import dataclass
from datetime import datetime, timedelta

Columns = tuple[tuple[str, str], ...]
Row = tuple

INTEGERS = ("int", "bigint")
EPOCH = datetime(1970, 1, 1)


class SpecError(Exception):
    """The spec has no meaning: a name that does not exist, or a form the language refuses."""


@dataclass(frozen=True)
class StreamSpec:
    """A base stream and its rows in the order of arrival; latent when `order_by` is None."""

    name: str
    columns: Columns
    order_by: str | None
    slack: int = 0
    rows: tuple[Row, ...] = ()

    @property
    def domain(self) -> str:
        """`integer`, `timestamp`, or `latent` (the instants are arrival numbers)."""
        if self.order_by is None:
            return "latent"
        return "timestamp" if dict(self.columns)[self.order_by] == "timestamp" else "integer"


@dataclass(frozen=True)
class TableSpec:
    """A table whose content never changes during the run."""

    name: str
    columns: Columns
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Col:
    """A column; over a grouped query, a grouping expression or an aggregate, by its name."""

    name: str
    qualifier: str | None = None


@dataclass(frozen=True)
class Lit:
    value: object


@dataclass(frozen=True)
class Bin:
    """One of + - * / % = <> < <= > >= AND OR."""

    op: str
    left: "Expr"
    right: "Expr"


@dataclass(frozen=True)
class Not:
    operand: "Expr"


@dataclass(frozen=True)
class IsNull:
    operand: "Expr"
    negated: bool = False


@dataclass(frozen=True)
class Between:
    operand: "Expr"
    low: "Expr"
    high: "Expr"


@dataclass(frozen=True)
class InList:
    operand: "Expr"
    items: tuple["Expr", ...]


@dataclass(frozen=True)
class Like:
    operand: "Expr"
    pattern: str


@dataclass(frozen=True)
class Case:
    whens: tuple[tuple["Expr", "Expr"], ...]
    otherwise: "Expr | None" = None


@dataclass(frozen=True)
class Coalesce:
    operands: tuple["Expr", ...]


@dataclass(frozen=True)
class Func:
    """One of upper, lower, length, abs."""

    name: str
    operand: "Expr"


Expr = Col | Lit | Bin | Not | IsNull | Between | InList | Like | Case | Coalesce | Func


@dataclass(frozen=True)
class Window:
    """A window of §3; `range` and the slide of a range in instants, `rows` None for unbounded."""

    kind: str  # now, range, unbounded, rows
    range: int | None = None
    rows: int | None = None
    partition_by: tuple[str, ...] = ()
    slide: int | None = None


@dataclass(frozen=True)
class Join:
    """A static table joined on the right: inner, left, or cross (no condition)."""

    table: str
    kind: str
    condition: Expr | None = None


@dataclass(frozen=True)
class Item:
    """A named expression, of a select list or of GROUP BY."""

    expression: Expr
    name: str


@dataclass(frozen=True)
class Aggregate:
    """A named aggregate; `argument` is None for count(*).

    Functions: count, count_distinct, sum, avg, min, max, stddev, variance, first, last, median.
    """

    name: str
    function: str
    argument: Expr | None = None


@dataclass(frozen=True)
class Query:
    """One SELECT over one stream (or relation view) and static tables.

    An empty select list is `*`. `output` is None for the default, or istream, dstream, rstream,
    streamed, complete. `style` chooses among spellings of the same: `around` writes
    Istream(SELECT …), `alias_first` writes the window after the alias.
    """

    stream: str
    select: tuple[Item, ...] = ()
    window: Window | None = None
    alias: str | None = None
    joins: tuple[Join, ...] = ()
    where: Expr | None = None
    group_by: tuple[Item, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    having: Expr | None = None
    output: str | None = None
    style: tuple[str, ...] = ()

    @property
    def is_grouped(self) -> bool:
        return bool(self.group_by or self.aggregates or self.having)


@dataclass(frozen=True)
class Derived:
    """A named query: `CREATE STREAM name AS` or `CREATE VIEW name AS`."""

    name: str
    kind: str  # stream, view
    query: Query


@dataclass(frozen=True)
class Script:
    """Streams, tables, derived streams and views, then bare queries named q1, q2, …"""

    streams: tuple[StreamSpec, ...]
    tables: tuple[TableSpec, ...] = ()
    derived: tuple[Derived, ...] = ()
    queries: tuple[Query, ...] = ()

    def named_queries(self) -> tuple[tuple[str, Query], ...]:
        """All queries with their names, in the order of the script."""
        bare = ((f"q{i}", query) for i, query in enumerate(self.queries, 1))
        return (*((d.name, d.query) for d in self.derived), *bare)

    def to_sql(self) -> str:
        """The script as text."""
        from .sql import script_sql

        return script_sql(self)


def instant_of(value: int | datetime) -> int:
    """The instant of a value of an order column: itself, or microseconds since the epoch."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return value
