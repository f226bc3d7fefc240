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
class ColumnDef:
    """A column of a stream or table; `type` is canonical text such as `decimal(10,2)`."""

    name: str
    type: str
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class CreateStream(Named):
    """A stream that comes from outside; `order_by` may be "current_time"."""

    columns: tuple[ColumnDef, ...]
    order_by: str | None = None
    slack: Interval | None = None
    source: str | None = None
    options: Options = ()
    order_place: Place | None = field(default=None, compare=False, repr=False)
    slack_place: Place | None = field(default=None, compare=False, repr=False)
    source_place: Place | None = field(default=None, compare=False, repr=False)
    options_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class CreateStreamAs(Named):
    """A stream that is the result of a query."""

    columns: tuple[str, ...] | None = None
    query: exp.Expr


@dataclass(frozen=True, kw_only=True)
class CreateView(Named):
    """A query with a name."""

    columns: tuple[str, ...] | None = None
    query: exp.Expr


@dataclass(frozen=True, kw_only=True)
class CreateTable(Named):
    """A relation that comes from outside."""

    columns: tuple[ColumnDef, ...]
    key: tuple[str, ...] = ()
    source: str | None = None
    options: Options = ()
    key_place: Place | None = field(default=None, compare=False, repr=False)
    source_place: Place | None = field(default=None, compare=False, repr=False)
    options_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Drop(Named):
    """Forget a stream, table, view or query; `kind` is in lower case."""

    kind: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class Describe(Named):
    """Show what is known about one name."""


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    """List streams, tables, views, queries or settings; everything when `what` is None."""

    what: str | None = None


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """Show the plan of a query, or of the view, stream or query with a name."""

    stage: str | None = None
    query: exp.Expr | None = None
    name: str | None = None
    name_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Set(Named):
    """Give a setting a value, kept as text."""

    value: str
    value_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class QueryStatement(Statement):
    """A query that stands by itself."""

    query: exp.Expr
