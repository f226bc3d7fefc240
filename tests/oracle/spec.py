"""What a case is: streams with their rows, tables, derived streams and queries, as plain data."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta

Columns = tuple[tuple[str, str], ...]
Row = tuple

INTEGERS = ("int", "bigint")
EPOCH = datetime(1970, 1, 1)


class SpecError(Exception):
    """The spec has no meaning: a name that does not exist, or a form the language refuses."""


@dataclass(frozen=True)
class StreamSpec:
    """A base stream and its rows in the order of arrival; latent when `order_by` is None.

    With `in_seconds`, its order column is an integer that counts seconds.
    """

    name: str
    columns: Columns
    order_by: str | None
    slack: int = 0
    rows: tuple[Row, ...] = ()
    in_seconds: bool = False

    @property
    def domain(self) -> str:
        """`integer`, `timestamp`, or `latent` (the instants are arrival numbers)."""
        if self.order_by is None:
            return "latent"
        if self.in_seconds:
            return "timestamp"
        return "timestamp" if dict(self.columns)[self.order_by] == "timestamp" else "integer"


@dataclass(frozen=True)
class Change:
    """A line of a table's changes file; `op` is as it is written: insert or +, update or u, …"""

    op: str
    ts: int | datetime
    row: Row


@dataclass(frozen=True)
class Insert:
    """`INSERT INTO … VALUES … AT at`."""

    at: int | datetime
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Update:
    """`UPDATE … SET column = expression, … [WHERE condition] AT at`."""

    at: int | datetime
    assignments: tuple[tuple[str, "Expr"], ...]
    where: "Expr | None" = None


@dataclass(frozen=True)
class Delete:
    """`DELETE FROM … [WHERE condition] AT at`."""

    at: int | datetime
    where: "Expr | None" = None


@dataclass(frozen=True)
class TableSpec:
    """A table: its rows if it never changes, else the changes of its file or its statements.

    `feed` is rows, changes or statements; `domain` that of the timestamps of its changes.
    """

    name: str
    columns: Columns
    rows: tuple[Row, ...] = ()
    feed: str = "rows"
    key: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    statements: tuple[Insert | Update | Delete, ...] = ()
    retroactive: bool = True
    domain: str = "integer"

    @property
    def is_static(self) -> bool:
        return self.feed == "rows"


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


@dataclass(frozen=True)
class Now:
    """The instant at which a condition is looked at."""


@dataclass(frozen=True)
class Exists:
    query: "AnyQuery"
    negated: bool = False


@dataclass(frozen=True)
class InQuery:
    operand: "Expr"
    query: "AnyQuery"
    negated: bool = False


@dataclass(frozen=True)
class Quantified:
    """`operand op ALL (query)` or `operand op ANY (query)`."""

    operand: "Expr"
    op: str
    quantifier: str  # ALL, ANY
    query: "AnyQuery"


@dataclass(frozen=True)
class Scalar:
    """A query of at most one row and one column as a value."""

    query: "AnyQuery"


Subquery = Exists | InQuery | Quantified | Scalar
Expr = (
    Col
    | Lit
    | Bin
    | Not
    | IsNull
    | Between
    | InList
    | Like
    | Case
    | Coalesce
    | Func
    | Now
    | Subquery
)


@dataclass(frozen=True)
class Window:
    """A window of §3; `range` and the slide of a range in instants, `rows` None for unbounded.

    The length of a slot and the gap between sessions are `range`; a hop has a slot every `slide`.
    """

    kind: str  # now, range, unbounded, rows, tumble, hop, session
    range: int | None = None
    rows: int | None = None
    partition_by: tuple[str, ...] = ()
    slide: int | None = None
    offset: int = 0

    @property
    def has_bounds(self) -> bool:
        """Whether its rows have the columns window_start and window_end."""
        return self.kind in ("tumble", "hop", "session")

    @property
    def overlaps(self) -> bool:
        """Whether a row may be in several slots."""
        return self.kind == "hop" and (self.range or 0) > (self.slide or 0)


@dataclass(frozen=True)
class Source:
    """An entry of FROM: a stream, view or table by its name, or a query; a query has an alias."""

    of: "str | AnyQuery"
    window: Window | None = None
    alias: str | None = None
    sync: str | None = None
    """The stream of time points at which R(of, sync) changes."""

    @property
    def name(self) -> str:
        """What qualifies its columns."""
        return self.alias or str(self.of)


@dataclass(frozen=True)
class Join:
    """A source joined to those before it: inner, left, right, full, cross, comma.

    The last two have no condition. `using` stands for equal columns on both sides.
    """

    source: "str | AnyQuery"
    kind: str
    condition: Expr | None = None
    window: Window | None = None
    alias: str | None = None
    using: tuple[str, ...] = ()
    sync: str | None = None

    @property
    def entry(self) -> Source:
        return Source(self.source, self.window, self.alias, self.sync)


@dataclass(frozen=True)
class Item:
    """A named expression, of a select list or of GROUP BY."""

    expression: Expr
    name: str


@dataclass(frozen=True)
class Aggregate:
    """A named aggregate; `argument` is None for count(*).

    Functions: count, count_distinct, sum, avg, min, max, stddev, variance, first, last, median,
    quantile (at a quarter), string_agg (with a comma between), array_agg.
    """

    name: str
    function: str
    argument: Expr | None = None


@dataclass(frozen=True)
class Order:
    """A column of the select list to order by; `nulls` is first, last, or None for the default."""

    name: str
    descending: bool = False
    nulls: str | None = None


@dataclass(frozen=True)
class Query:
    """One SELECT over a source and those joined to it; without FROM when the source is "".

    An empty select list is `*`. `output` is None for the default, or istream, dstream, rstream,
    streamed, complete. `style` chooses among spellings of the same: `around` writes
    Istream(SELECT …), `alias_first` writes the window after the alias.
    """

    source: "str | AnyQuery"
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
    distinct: bool = False
    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    sync: str | None = None

    @property
    def is_grouped(self) -> bool:
        return bool(self.group_by or self.aggregates or self.having)

    @property
    def sources(self) -> tuple[Source, ...]:
        if self.source == "":
            return ()
        first = Source(self.source, self.window, self.alias, self.sync)
        return (first, *(join.entry for join in self.joins))


@dataclass(frozen=True)
class SetOperation:
    """`left UNION | INTERSECT | EXCEPT [ALL] right`; `output` is None or a stream operator."""

    op: str  # union, intersect, except
    left: "AnyQuery"
    right: "AnyQuery"
    all: bool = False
    output: str | None = None
    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0


AnyQuery = Query | SetOperation


@dataclass(frozen=True)
class Ticks:
    """`SELECT Timepoint FROM clock WHERE Timepoint % every = at`, from a tick on; `clocks` are the
    streams whose clock it is, all of the script if there are none."""

    every: int
    at: int = 0
    first: int | None = None
    clock: str | None = None


@dataclass(frozen=True)
class Events:
    """`SELECT ts FROM stream WHERE column op value`."""

    stream: str
    column: str
    op: str
    value: object


@dataclass(frozen=True)
class After:
    """The ticks of the clock that come `delay` ticks after an element of a stream of integers."""

    stream: str
    delay: int


@dataclass(frozen=True)
class Both:
    """UNION or INTERSECT of two syncs, by their names."""

    op: str  # union, intersect
    left: str
    right: str


@dataclass(frozen=True)
class Sync:
    """A stream of time points: a view of that name."""

    name: str
    of: Ticks | Events | After | Both


@dataclass(frozen=True)
class Derived:
    """A named query: `CREATE STREAM name AS` or `CREATE VIEW name AS`."""

    name: str
    kind: str  # stream, view
    query: AnyQuery


@dataclass(frozen=True)
class Script:
    """Streams, tables, derived streams and views, then bare queries named q1, q2, …

    Derived ones stand after those they use. Those named in `last` are written at the end of the
    text, behind the queries that use them; so are the statements of a table in `last`.
    """

    streams: tuple[StreamSpec, ...]
    tables: tuple[TableSpec, ...] = ()
    derived: tuple[Derived, ...] = ()
    queries: tuple[AnyQuery, ...] = ()
    last: tuple[str, ...] = ()
    syncs: tuple[Sync, ...] = ()

    def named_queries(self) -> tuple[tuple[str, AnyQuery], ...]:
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


def parts_of(value: object) -> Iterator[object]:
    """Everything inside a piece of a spec, itself included, from the outside in."""
    if isinstance(value, tuple):
        for inner in value:
            yield from parts_of(inner)
    elif is_dataclass(value):
        yield value
        for field in fields(value):
            yield from parts_of(getattr(value, field.name))


def reads_now(value: object) -> bool:
    """Whether something in it is about the current instant."""
    return any(isinstance(part, Now) for part in parts_of(value))


def subqueries_of(e: object) -> Iterator[Subquery]:
    """The subqueries of an expression, or of several; not those inside them."""
    if isinstance(e, Subquery):
        yield e
        if not isinstance(e, Exists | Scalar):
            yield from subqueries_of(e.operand)
    elif isinstance(e, tuple):
        for inner in e:
            yield from subqueries_of(inner)
    elif is_dataclass(e):
        for field in fields(e):
            yield from subqueries_of(getattr(e, field.name))
