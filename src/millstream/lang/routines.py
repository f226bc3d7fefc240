"""Aggregates and table functions as statements: what stands between their braces, as data."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from millstream.errors import Place
from millstream.lang.statements import ColumnDef, Definition

LABELS = ("initialize", "iterate", "terminate", "expire")

Rows = tuple[tuple[exp.Expr, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a definition."""

    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Named(Part):
    """A piece about a table."""

    name: str
    name_place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class BlockInsert(Named):
    """INSERT INTO a table or RETURN: a query, or rows that count if a condition holds."""

    columns: tuple[str, ...] | None = None
    query: exp.Expr | None = None
    rows: Rows = ()
    where: exp.Expr | None = None
    columns_place: Place | None = field(default=None, compare=False, repr=False)
    row_places: tuple[Place, ...] = field(default=(), compare=False, repr=False)

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        values = (value for row in self.rows for value in row)
        return tuple(tree for tree in (self.query, *values, self.where) if tree is not None)


@dataclass(frozen=True, kw_only=True)
class BlockUpdate(Named):
    """New values for the rows of a local table that meet a condition."""

    values: tuple[tuple[str, exp.Expr], ...]
    where: exp.Expr | None = None
    value_places: tuple[Place, ...] = field(default=(), compare=False, repr=False)

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        where = () if self.where is None else (self.where,)
        return (*(value for _, value in self.values), *where)


@dataclass(frozen=True, kw_only=True)
class BlockDelete(Named):
    """The rows of a local table that meet a condition leave it."""

    where: exp.Expr | None = None

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        return () if self.where is None else (self.where,)


@dataclass(frozen=True, kw_only=True)
class BlockLoad(Named):
    """LOAD FROM a file INTO a local table."""

    source: str
    source_place: Place = field(compare=False, repr=False)

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        return ()


BlockStatement = BlockInsert | BlockUpdate | BlockDelete | BlockLoad


@dataclass(frozen=True, kw_only=True)
class LocalTableDef(Named):
    """A table of a routine, with the rows that it begins with. `stored` is an old word for how it
    is stored, in lower case. A column of `inwindow` may be without a type: "" stands for it."""

    columns: tuple[ColumnDef, ...]
    stored: str | None = None
    indexes: tuple[tuple[str, ...], ...] = ()
    begins: BlockInsert | None = None
    index_places: tuple[Place, ...] = field(default=(), compare=False, repr=False)

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        return () if self.begins is None else self.begins.trees


@dataclass(frozen=True, kw_only=True)
class Section(Part):
    """Statements under labels, which are in lower case; a body without labels has none."""

    labels: tuple[str, ...]
    statements: tuple[BlockStatement, ...]
    label_places: tuple[Place, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class CreateRoutine(Definition):
    """An aggregate or a table function made of blocks. `kind` is "aggregate" or "function".

    A routine that gives values of one type gives one column, called like the routine;
    `gives_columns` says that its columns were named.
    """

    kind: str
    arguments: tuple[ColumnDef, ...]
    returns: tuple[ColumnDef, ...]
    gives_columns: bool = False
    is_algebraic: bool = False
    is_window: bool = False
    tables: tuple[LocalTableDef, ...] = ()
    inner: tuple[CreateRoutine, ...] = ()
    sections: tuple[Section, ...] = ()

    @property
    def trees(self) -> tuple[exp.Expr, ...]:
        """The queries and expressions in it."""
        parts = [*self.tables, *(s for section in self.sections for s in section.statements)]
        inner = (tree for routine in self.inner for tree in routine.trees)
        return (*(tree for part in parts for tree in part.trees), *inner)


@dataclass(frozen=True, kw_only=True)
class CreateForeignAggregate(Definition):
    """An aggregate written in another language: `of` names what it is there."""

    arguments: tuple[ColumnDef, ...]
    returns: tuple[ColumnDef, ...]
    gives_columns: bool = False
    is_algebraic: bool = False
    is_window: bool = False
    language: str
    of: str
    of_place: Place = field(compare=False, repr=False)
