"""What names mean: streams, tables and views."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, STRING, TIMESTAMP, type_name
from millstream.errors import MillstreamError, closest
from millstream.operators import Scan, StaticTable

CURRENT_TIME = "current_time"
ERROR_COLUMNS = (("seq", INTEGER), ("reason", STRING), ("row", STRING))
SIDES = ("late", "errors")
Fields = tuple[tuple[str, pa.DataType], ...]


@dataclass(frozen=True)
class Stream:
    """A declared stream: its columns, its time, and where it comes from.

    `order_by` is a column (external timestamps), `current_time` (internal), or None (latent).
    `slack`, `ahead` are in the units of the domain, `idle` in microseconds of the clock. `of` is
    set for the side streams of late and bad rows. A `foreign` stream comes as a Spark DataFrame, in
    partitions side by side.
    """

    name: str
    columns: Fields
    order_by: str | None = None
    slack: int = 0
    source: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    base: str = "."
    ahead: int | None = None
    idle: int | None = None
    of: str | None = None
    foreign: bool = False

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.columns))

    @property
    def is_internal(self) -> bool:
        return self.order_by == CURRENT_TIME

    @cached_property
    def domain(self) -> Domain:
        if self.order_by is None:
            return Domain.ARRIVAL
        if self.is_internal:
            return Domain.TIMESTAMP
        kind = self.schema.field(self.order_by).type
        return Domain.TIMESTAMP if kind == TIMESTAMP else Domain.INTEGER

    @cached_property
    def declared(self) -> str:
        """A short name of the declaration; another is another stream to operators with state."""
        columns = [(name, type_name(kind)) for name, kind in self.columns]
        said = repr(
            (
                self.name,
                columns,
                self.order_by,
                self.slack,
                self.source,
                self.options,
                self.ahead,
                self.idle,
            )
        )
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def side(self, kind: str) -> Stream:
        """The stream of this one's late or bad rows (`late`, `errors`), in order of arrival."""
        columns = self.columns if kind == "late" else ERROR_COLUMNS
        return Stream(f"{self.name}.{kind}", columns, of=self.name)

    def scan(self) -> Scan:
        return Scan(self.name, self.columns, self.domain, self.declared)


@dataclass(frozen=True)
class Table:
    """A declared table and its rows, which do not change during a run."""

    name: str
    columns: Fields
    key: tuple[str, ...]
    content: StaticTable


@dataclass(frozen=True)
class View:
    """A named query: a derived stream or relation. `plan` gives its content, before any tagging."""

    name: str
    plan: Node
    text: str
    made_as: str = "view"
    """What CREATE called it."""

    @property
    def kind(self) -> str:
        return "stream" if self.plan.is_stream else "relation"


Entry = Stream | Table | View


@dataclass
class Catalog:
    """The names a script may use. Names are found in any case."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        self.check_free(entry.name)
        self.entries[entry.name.lower()] = entry

    def check_free(self, name: str) -> None:
        """An error if something has the name already."""
        if (there := self.entries.get(name.lower())) is not None:
            kind = kind_of(there)
            raise MillstreamError(
                f'{kind} "{there.name}" exists already',
                hint=f'Choose another name, or write DROP {kind.upper()} "{there.name}" first.',
            )

    def find(self, name: str) -> Entry:
        entry = self.entries.get(name.lower())
        if entry is None:
            raise self.missing("stream, table or view", name)
        return entry

    def missing(self, kind: str, name: str) -> MillstreamError:
        """What to say about a name that nothing has."""
        near = closest(name, [e.name for e in self.entries.values()])
        hint = f'Did you mean "{near}"?' if near else "Declare it before this statement."
        return MillstreamError(f'{kind} "{name}" does not exist', hint=hint)

    def drop(self, name: str) -> None:
        del self.entries[name.lower()]


def kind_of(entry: Entry) -> str:
    """What an entry is called in messages."""
    match entry:
        case Stream():
            return "stream"
        case Table():
            return "table"
    return entry.made_as
