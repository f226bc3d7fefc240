"""The statements of the language, as data; places do not take part in equality."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from millstream.errors import Place
from millstream.lang.interval import Interval

Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of a script; `place` covers all of it."""

    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Named(Statement):
    """A statement about something with a name."""

    name: str
    name_place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Definition(Named):
    """A statement that gives a name its meaning; OR REPLACE also if it has one already."""

    replaces: bool = False


@dataclass(frozen=True, kw_only=True)
class ColumnDef:
    """A column of a stream or table; `type` is canonical text such as `decimal(10,2)`, or empty
    where the source has it."""

    name: str
    type: str
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class CreateStream(Definition):
    """A stream that comes from outside; `order_by` may be "current_time". Without columns these are
    inferred from its source. `order_unit` is the unit of an integer column, in the singular."""

    columns: tuple[ColumnDef, ...]
    order_by: str | None = None
    order_unit: str | None = None
    slack: Interval | None = None
    source: str | None = None
    options: Options = ()
    order_place: Place | None = field(default=None, compare=False, repr=False)
    slack_place: Place | None = field(default=None, compare=False, repr=False)
    source_place: Place | None = field(default=None, compare=False, repr=False)
    options_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class RegisterSource(CreateStream):
    """A stream that comes from outside, to be made a tagged stream. `port` is the name of a port
    that takes the place of a source."""

    port: str | None = None


@dataclass(frozen=True, kw_only=True)
class CreateStreamOver(Definition):
    """A tagged stream: the elements of a stream as modifications, under a key or, for None, each a
    row of its own."""

    over: str
    key: tuple[str, ...] | None
    over_place: Place = field(compare=False, repr=False)
    key_place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class CreateStreamAs(Definition):
    """A stream that is the result of a query."""

    columns: tuple[str, ...] | None = None
    query: exp.Expr


@dataclass(frozen=True, kw_only=True)
class CreateView(Definition):
    """A query with a name; `form` is "streamed" or "complete" where CREATE says so."""

    form: str | None = None
    columns: tuple[str, ...] | None = None
    query: exp.Expr


@dataclass(frozen=True, kw_only=True)
class CreateTable(Definition):
    """A relation that comes from outside, or is changed by statements. Without columns these are
    inferred from its source."""

    columns: tuple[ColumnDef, ...]
    key: tuple[str, ...] = ()
    non_retroactive: bool = False
    slack: Interval | None = None
    source: str | None = None
    options: Options = ()
    key_place: Place | None = field(default=None, compare=False, repr=False)
    non_retroactive_place: Place | None = field(default=None, compare=False, repr=False)
    slack_place: Place | None = field(default=None, compare=False, repr=False)
    source_place: Place | None = field(default=None, compare=False, repr=False)
    options_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Modification(Named):
    """A statement that changes a table; `at` is when, None for the beginning."""

    at: exp.Expr | None = None

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        """The expressions in it."""
        return () if self.at is None else (self.at,)


@dataclass(frozen=True, kw_only=True)
class Insert(Modification):
    """More rows for a table; `columns` None stands for all of them."""

    columns: tuple[str, ...] | None = None
    rows: tuple[tuple[exp.Expr, ...], ...]
    columns_place: Place | None = field(default=None, compare=False, repr=False)
    row_places: tuple[Place, ...] = field(default=(), compare=False, repr=False)

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        return (*super().trees, *(value for row in self.rows for value in row))


@dataclass(frozen=True, kw_only=True)
class InsertQuery(Named):
    """A query whose rows fill a declared stream; `columns` None stands for all of them."""

    columns: tuple[str, ...] | None = None
    query: exp.Expr
    columns_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Update(Modification):
    """New values for the rows of a table that meet a condition."""

    values: tuple[tuple[str, exp.Expr], ...]
    where: exp.Expr | None = None
    value_places: tuple[Place, ...] = field(default=(), compare=False, repr=False)

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        where = () if self.where is None else (self.where,)
        return (*super().trees, *where, *(value for _, value in self.values))


@dataclass(frozen=True, kw_only=True)
class Delete(Modification):
    """Remove the rows of a table that meet a condition."""

    where: exp.Expr | None = None

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        return super().trees if self.where is None else (*super().trees, self.where)


@dataclass(frozen=True, kw_only=True)
class Load(Modification):
    """The rows of a file for a table."""

    source: str
    source_place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Drop(Named):
    """Forget a stream, table, view or query; `kind` is in lower case."""

    kind: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class Describe(Named):
    """Show what is known about one name."""


@dataclass(frozen=True, kw_only=True)
class DescribeFunction(Named):
    """Show what is known about a function, an operator or an aggregate."""


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    """List streams, tables, views, queries, settings, functions or aggregates; when `what` is None,
    everything that statements have made. `like` is a pattern that names have to match."""

    what: str | None = None
    like: str | None = None


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """Show the plan of a query, or of the view, stream or query with a name. `form` is that of the
    stage MACHINE: "text", "graphviz" or "svg"."""

    stage: str | None = None
    form: str = "text"
    query: exp.Expr | None = None
    name: str | None = None
    name_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class ExplainRoutine(Named):
    """Show how an aggregate or table function of one's own is carried out."""


@dataclass(frozen=True, kw_only=True)
class Set(Named):
    """Give a setting a value, kept as text."""

    value: str
    value_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class QueryStatement(Statement):
    """A query that stands by itself."""

    query: exp.Expr
