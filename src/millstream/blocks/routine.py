"""Routines: aggregates and table functions made of blocks, as checked trees."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from millstream.algebra.expressions import Expression, name_text
from millstream.blocks.foreign import NONE, Foreign
from millstream.blocks.queries import Columns, Query

RETURN = "return"
"""The table whose rows are what a routine gives."""

INWINDOW = "inwindow"
"""The table that holds the arguments of the tuples in the window, oldest first."""


@dataclass(frozen=True)
class Insert:
    """INSERT INTO table query: the columns of the query are all of the table, in their order."""

    table: str
    query: Query
    depth: int = 0

    def __str__(self) -> str:
        return f"insert {'^' * self.depth}{name_text(self.table)} {self.query}"


@dataclass(frozen=True)
class Update:
    """UPDATE table SET column = value, … WHERE condition; `label` is that of the row in them."""

    table: str
    label: int
    values: tuple[tuple[str, Expression], ...]
    where: Expression | None = None
    depth: int = 0

    def __str__(self) -> str:
        sets = ", ".join(f"{name_text(name)} = {value}" for name, value in self.values)
        where = "" if self.where is None else f" where {self.where}"
        return f"update {'^' * self.depth}{name_text(self.table)} #{self.label} set {sets}{where}"


@dataclass(frozen=True)
class Delete:
    """DELETE FROM table WHERE condition; `label` is that of the row in it."""

    table: str
    label: int
    where: Expression | None = None
    depth: int = 0

    def __str__(self) -> str:
        where = "" if self.where is None else f" where {self.where}"
        return f"delete {'^' * self.depth}{name_text(self.table)} #{self.label}{where}"


Statement = Insert | Update | Delete | Foreign
Block = tuple[Statement, ...]


@dataclass(frozen=True)
class LocalTable:
    """A table of a routine. `begins` gives the rows that it has when an instance begins: it may
    use the arguments of the first tuple. `indexes` are columns that its author wants found fast."""

    name: str
    columns: Columns
    begins: Query | None = None
    indexes: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        begins = "" if self.begins is None else f" as {self.begins}"
        columns = ", ".join(f"{name_text(name)} {kind}" for name, kind in self.columns)
        return f"table {name_text(self.name)}({columns}){begins}"


@dataclass(frozen=True, eq=False, repr=False)
class Routine:
    """An aggregate of one's own, or a table function (`is_function`, whose body is `initialize`).

    `terminate` and `expire` are None where there is no such label, or an empty block in the case
    of TERMINATE: then the routine is not blocking. `inwindow` are the columns of that table as the
    author has named them; their types are those of the arguments. `calls` are the routines that
    its blocks call by `RoutineName`, those defined inside it among them (`inner`, whose blocks see
    its tables and arguments with a depth of 1). `text` is the definition as it was written, with
    one space between words.

    Law: routines are equal when their digests are; the digest is made of the checked tree, and of
    all that it calls.
    """

    name: str
    arguments: Columns
    returns: Columns
    tables: tuple[LocalTable, ...] = ()
    initialize: Block = ()
    iterate: Block = ()
    terminate: Block | None = None
    expire: Block | None = None
    is_window: bool = False
    is_algebraic: bool = False
    is_function: bool = False
    inwindow: Columns | None = None
    inner: tuple[Routine, ...] = ()
    calls: Mapping[str, Routine] = field(default_factory=lambda: MappingProxyType({}))
    text: str = ""

    @property
    def is_blocking(self) -> bool:
        """Whether it answers only after the last tuple."""
        return bool(self.terminate)

    @property
    def returns_on_expire(self) -> bool:
        return any(is_return(s) for s in self.expire or ())

    @cached_property
    def described(self) -> str:
        """The checked tree as text, without what it calls."""
        parts = [
            f"{'function' if self.is_function else 'aggregate'} {name_text(self.name)}",
            f"window {self.is_window} algebraic {self.is_algebraic}",
            _listed(self.arguments) + " : " + _listed(self.returns),
            *map(str, self.tables),
            *([f"inwindow {_listed(self.inwindow)}"] if self.inwindow is not None else []),
        ]
        for label in ("initialize", "iterate", "terminate", "expire"):
            if (block := getattr(self, label)) is not None:
                parts.append(f"{label}:")
                parts.extend(f"  {statement}" for statement in block)
        parts.extend(f"inner {routine.described}" for routine in self.inner)
        return "\n".join(parts)

    @cached_property
    def digest(self) -> str:
        """A short name of what it computes."""
        called = [self.calls[name].described for name in sorted(self.calls)]
        return hashlib.sha256("\n\n".join([self.described, *called]).encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"{self.name}#{self.digest}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Routine) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "calls": dict(self.calls)}

    def statements(self) -> Iterator[Statement]:
        """All statements of its blocks; merged labels share theirs."""
        for block in (self.initialize, self.iterate, self.terminate, self.expire):
            yield from block or ()


def is_return(statement: Statement) -> bool:
    if isinstance(statement, Foreign):
        return statement.gives != NONE
    return isinstance(statement, Insert) and statement.table == RETURN and not statement.depth


def with_calls(routine: Routine, calls: Mapping[str, Routine]) -> Routine:
    """The same routine with the routines that its blocks call."""
    return replace(routine, calls=MappingProxyType(dict(calls)))


def _listed(columns: Columns) -> str:
    return "(" + ", ".join(f"{name_text(name)} {kind}" for name, kind in columns) + ")"
