"""What names mean: streams, tables and views; and which views and queries read them.

Long because everything that a name can mean stands here, side by side, with its readers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.builtin import builtin
from millstream.algebra.expressions import Expression
from millstream.algebra.lengths import UNITS
from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, STRING, TIMESTAMP, type_name
from millstream.blocks.routine import Routine
from millstream.blocks.versions import Known, Versions
from millstream.errors import MillstreamError, Notice, closest
from millstream.operators import Scan, StaticTable, TableScan

CURRENT_TIME = "current_time"
STATEMENTS = "statements:"
"""The source of modifications that statements make."""

ERROR_COLUMNS = (("seq", INTEGER), ("reason", STRING), ("row", STRING))
SIDES = ("late", "errors")
Fields = tuple[tuple[str, pa.DataType], ...]


@dataclass(frozen=True)
class Stream:
    """A declared stream: its columns, its time, and where it comes from.

    `order_by` is a column (external timestamps), `current_time` (internal), or None (latent).
    `unit` is that of an integer column which counts a unit of time, `second` for example: instants
    are microseconds then. `slack`, `ahead` are in the units of the domain, `idle` in microseconds
    of the clock; `by_clock` says that time goes on by the clock when all are idle. `of` is set for
    streams that belong to something else and have no late or bad rows of their own, such as side
    streams. A `foreign` stream comes as a Spark DataFrame, in partitions side by side.

    The modifications of a table are a stream, too: `op` is the column that says what each of them
    does, `keyed` whether the table has a key, and `rows` are those that statements have made.
    Elements of a registered source may be modifications, too: `raw_op` is that column there, and
    `changed` are the columns of its change records, each of which comes as it was before and after.
    `inferred` is the whole declaration of a stream whose columns were inferred. `clock` is where a
    column that shows the clock was declared, and how it was written: no source has it.
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
    op: str | None = None
    keyed: bool = False
    rows: pa.RecordBatch | None = field(default=None, compare=False, repr=False)
    inferred: str | None = field(default=None, compare=False, repr=False)
    unit: str | None = None
    clock: tuple[int, str] | None = None
    raw_op: str | None = None
    changed: tuple[str, ...] = ()
    by_clock: bool = False

    @property
    def says(self) -> str | None:
        """The column that says what each element does to a relation, if the elements say so."""
        return self.op or self.raw_op

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
        if self.is_internal or self.unit is not None:
            return Domain.TIMESTAMP
        kind = self.schema.field(self.order_by).type
        return Domain.TIMESTAMP if kind == TIMESTAMP else Domain.INTEGER

    @property
    def scale(self) -> int:
        """How many units of the domain one unit of the order column is."""
        return 1 if self.unit is None else UNITS[self.unit]

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
                *((self.op, self.keyed) if self.op else ()),
                *((self.unit,) if self.unit else ()),
                *((self.raw_op, self.changed) if self.raw_op else ()),
                *((self.by_clock,) if self.by_clock else ()),
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
    """A declared table: the rows it begins with, and the stream of its modifications, if any.

    `non_retroactive` says that a modification only meets stream elements after it. One that is in a
    database is read again every so many microseconds (`every`); `source` may hold a password.
    `inferred` is the whole declaration of a table whose columns were inferred.
    """

    name: str
    columns: Fields
    key: tuple[str, ...]
    content: StaticTable
    non_retroactive: bool = False
    changes: Stream | None = None
    source: str | None = field(default=None, repr=False)
    options: tuple[tuple[str, str], ...] = ()
    every: int | None = None
    inferred: str | None = field(default=None, compare=False, repr=False)

    @property
    def is_static(self) -> bool:
        """Whether its content does not change during a run."""
        return self.changes is None

    def relation(self) -> TableScan:
        """The table as a relation; one that does not change is the leaf of a plan."""
        if self.changes is None:
            return TableScan(self.content, self.key)
        assert self.changes.op is not None
        columns = ((self.changes.op, STRING), *self.columns)
        return TableScan(self.content, self.key, replace(self.changes.scan(), columns=columns))


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


@dataclass(frozen=True)
class TaggedStream(View):
    """The elements of a stream as modifications of a relation, which is `plan`.

    `raw` are the elements with the columns of the relation, and with `op` if that says what each
    of them does; `over` is the stream they come from. Without `keys`, each row is one of its own.
    """

    made_as: str = "stream"
    over: str = field(kw_only=True)
    keys: tuple[str, ...] | None = field(kw_only=True)
    raw: Node = field(kw_only=True)
    op: str | None = field(kw_only=True)


@dataclass(frozen=True)
class Put:
    """The rows that one INSERT puts into a stream: their plan, the statement, what its author
    should know, and the names that it reads."""

    plan: Node
    text: str
    notices: tuple[Notice, ...] = ()
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Filled(View):
    """A declared stream that queries fill: `plan` merges what they put in.

    `late` are the rows whose time had passed, None where rows keep their own time; `may_miss` says
    whether there can be any.
    """

    made_as: str = "stream"
    declared: Stream = field(kw_only=True)
    puts: tuple[Put, ...] = field(kw_only=True)
    late: Node | None = field(kw_only=True)
    may_miss: bool = field(kw_only=True)


Entry = Stream | Table | View

ROUTINES = ("aggregate", "function", "window aggregate")
"""What definitions made of blocks are called."""


def routine_key(kind: str, name: str) -> str:
    """What stands for a routine among the names that are read.

    >>> routine_key("aggregate", "Avg"), routine_key("window aggregate", "Avg")
    ('avg()', 'avg() over')
    """
    return f"{name.lower()}()" + (" over" if kind == "window aggregate" else "")


def routine_kind(routine: Routine) -> str:
    """What a routine is called in messages."""
    if routine.is_function:
        return "function"
    return "window aggregate" if routine.is_window else "aggregate"


@dataclass(frozen=True)
class Reader:
    """A view, stream, query or routine that reads names of the catalog: its kind and its name."""

    kind: str
    name: str

    @property
    def key(self) -> str:
        """By what it is told from others: a routine may be called like a view."""
        return routine_key(self.kind, self.name) if self.is_routine else self.name.lower()

    @property
    def is_routine(self) -> bool:
        return self.kind in ROUTINES

    def __str__(self) -> str:
        return f'{self.kind} "{self.name}"'


@dataclass
class Catalog:
    """The names a script may use, in any case, and the edges between them: who reads what.

    Law: `r in readers_of(n)` exactly when n is in `reads[r]`; both are kept, so that neither
    question costs more than its answer. Values are never changed in place: a copy is shallow.
    Aggregates have names of their own: one may be called like a stream.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    aggregates: dict[str, Aggregate] = field(default_factory=dict)
    routines: dict[str, Versions] = field(default_factory=dict)
    """Aggregates of one's own and table functions by name, in lower case; they hide built-ins."""
    shipped: Mapping[str, Versions] = field(default_factory=dict, repr=False)
    """The aggregates that come with the system; what a script defines hides them."""
    called: dict[str, Routine] = field(default_factory=dict)
    """The routines that plans call, by name and digest: for who reads the text of such a plan."""
    reads: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For every reader, by its name in lower case, the names it reads, in lower case."""
    _readers: dict[str, tuple[Reader, ...]] = field(default_factory=dict)
    _named: dict[Node, tuple[str, ...]] = field(default_factory=dict)
    """For every plan that a view has, the names of these views, in lower case."""
    past: Callable[[str, Expression], Entry] | None = None
    """What a name has held at an instant, where names stand for content that is read once."""
    clock: Callable[[Node], Domain | None] | None = None
    """What the time of a plan counts there: nothing in it says so."""

    def copy(self) -> Catalog:
        """A catalog that can be changed without changing this one."""
        return Catalog(
            dict(self.entries),
            dict(self.aggregates),
            dict(self.routines),
            self.shipped,
            dict(self.called),
            dict(self.reads),
            dict(self._readers),
            dict(self._named),
        )

    def without(self, names: Collection[str]) -> Catalog:
        """The catalog without some names, which are in lower case; who reads them stays noted."""
        if not any(name in self.entries for name in names):
            return self
        entries = {name: entry for name, entry in self.entries.items() if name not in names}
        return replace(self, entries=entries)

    def readers_of(self, name: str) -> tuple[Reader, ...]:
        """What reads a name itself, in the order in which it was registered."""
        return self._readers.get(name.lower(), ())

    def all_readers_of(self, name: str) -> tuple[Reader, ...]:
        """What reads a name, itself or through others; each after those that read it.

        This is the order in which all of them can be dropped.
        """
        found: dict[str, Reader] = {}
        below: list[Reader | str] = [name]
        while below:
            at = below.pop()
            if isinstance(at, Reader):
                found[at.key] = at
                continue
            for reader in reversed(self.readers_of(at)):
                if reader.key not in found:
                    below += [reader, reader.key]
        return tuple(found.values())

    def note_reads(self, reader: Reader, names: Iterable[str]) -> None:
        """Remember what a view or query reads."""
        read = tuple(dict.fromkeys(name.lower() for name in names))
        self.reads[reader.key] = read
        for name in read:
            self._readers[name] = (*self._readers.get(name, ()), reader)

    def forget_reads(self, name: str) -> None:
        """A view or query is no more: what it read is free of it."""
        for read in self.reads.pop(name.lower(), ()):
            left = tuple(r for r in self._readers[read] if r.key != name.lower())
            self._readers[read] = left
            if not left:
                del self._readers[read]

    def add(self, entry: Entry) -> None:
        self.check_free(entry.name)
        self.put(entry)

    def put(self, entry: Entry) -> None:
        """Let a name mean this, whatever it has meant."""
        name = entry.name.lower()
        self._forget_plan(name)
        self.entries[name] = entry
        if isinstance(entry, View):
            self._named[entry.plan] = (*self._named.get(entry.plan, ()), name)

    def views_of(self, plan: Node) -> tuple[str, ...]:
        """The names of the views that have a plan, in lower case."""
        return tuple(name for name in self._named.get(plan, ()) if name in self.entries)

    def _forget_plan(self, name: str) -> None:
        there = self.entries.get(name)
        if isinstance(there, View):
            left = tuple(other for other in self._named.pop(there.plan, ()) if other != name)
            if left:
                self._named[there.plan] = left

    def add_aggregate(self, aggregate: Aggregate) -> None:
        """Hold an aggregate by its name; it hides a built-in one."""
        if aggregate.name.lower() in self.aggregates:
            raise MillstreamError(f'aggregate "{aggregate.name}" exists already')
        self.aggregates[aggregate.name.lower()] = aggregate

    def put_routine(self, routine: Routine) -> None:
        """Let a name mean this routine, beside the versions of other kinds that it has."""
        name = routine.name.lower()
        self.routines[name] = self.routines.get(name, Versions()).with_version(routine)

    @property
    def versions(self) -> Known:
        """The routines of a name: those of the script, or else those that are shipped."""
        return Known(self.routines, self.shipped)

    def routine(self, key: str) -> Routine | None:
        """The routine that a key stands for."""
        name, _, window = key.partition("()")
        versions = self.routines.get(name, Versions())
        return versions.window if window else versions.base or versions.function

    def drop_routine(self, key: str) -> None:
        """Remove a version of a routine; it does not read anything any more."""
        name, _, window = key.partition("()")
        gone = {"window": None} if window else {"base": None, "function": None}
        left = replace(self.routines.pop(name), **gone)
        if left != Versions():
            self.routines[name] = left
        self.forget_reads(key)

    def knows(self, key: str) -> bool:
        """Whether a name, or the key of a routine, means something already."""
        name, routine, _ = key.partition("()")
        if not routine:
            return key in self.entries
        return self.routine(key) is not None or self.aggregate(name) is not None

    def aggregate(self, name: str) -> Aggregate | None:
        """The aggregate of a name: one that is held here, or a built-in."""
        return self.aggregates.get(name.lower()) or builtin(name)

    def check_free(self, name: str, wanted: str = "") -> None:
        """An error if something has the name already; `wanted` is the kind that is to have it."""
        if (there := self.entries.get(name.lower())) is not None:
            kind = kind_of(there)
            drop = f'DROP {kind.upper()} "{there.name}" first'
            instead = f"CREATE OR REPLACE {kind.upper()}" if kind == wanted else drop
            raise MillstreamError(
                f'{kind} "{there.name}" exists already',
                hint=f"Choose another name, or write {instead}.",
            )

    def find(self, name: str) -> Entry:
        entry = self.entries.get(name.lower())
        if entry is None:
            raise self.missing("stream, table or view", name)
        return entry

    def missing(self, kind: str, name: str) -> MillstreamError:
        """What to say about a name that nothing has."""
        near = closest(name, [e.name for e in self.entries.values()])
        hint = f'Did you mean "{near}"?' if near else "Declare it in the script."
        return MillstreamError(f'{kind} "{name}" does not exist', hint=hint)

    def drop(self, name: str) -> None:
        """Remove a name; as a view it does not read anything any more."""
        self._forget_plan(name.lower())
        del self.entries[name.lower()]
        self.forget_reads(name)


def kind_of(entry: Entry) -> str:
    """What an entry is called in messages."""
    match entry:
        case Stream():
            return "stream"
        case Table():
            return "table"
    return entry.made_as
