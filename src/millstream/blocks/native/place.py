"""Where code is written: the program that it belongs to, and what names mean there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from millstream.algebra.expressions import Expression
from millstream.algebra.types import STRING
from millstream.blocks.native.kinds import NotNative, Value, array_type, zero
from millstream.blocks.native.writer import Writer
from millstream.blocks.queries import Columns, Stored
from millstream.blocks.routine import Routine

Sink = Callable[["Place", Sequence[Value]], None]
"""What takes the rows of a query: it writes what is done with one of them."""


@dataclass(frozen=True)
class Variant:
    """What a program may rely on: that no argument and no stored value is NULL, and that all
    results count. `in_time` says that it takes the events of all instances as they happen."""

    nulls: bool = False
    wanted: bool = False
    in_time: bool = False


@dataclass(eq=False)
class Program:
    """A program that is being written.

    `nullable` are the columns that may hold a NULL, each by the name of its table and its number:
    writing adds to it, and is repeated until nothing is added. So it is with `room`: how many rows
    an event puts into a table at most; None where there is no telling, since it does so in a loop.
    `texts` are the strings that stand in the routine, `stored` the tables of the system it reads,
    `lifted` the expressions of the arguments that are handed in as columns.
    `loops` is how many loops are open where an event is taken.
    """

    routine: Routine
    variant: Variant
    nullable: set[tuple[str, int]]
    room: dict[str, int | None] = field(default_factory=dict)
    puts: Counter[str] = field(default_factory=Counter)
    writer: Writer = field(default_factory=Writer)
    top: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    lifted: tuple[Expression, ...] = ()
    orders_texts: bool = False
    tables: int = 0
    loops: int = 0
    calling: tuple[str, ...] = ()

    def text(self, value: str) -> str:
        """The name of a string that stands in the routine."""
        if value not in self.texts:
            self.texts.append(value)
        return f"d{self.texts.index(value)}"


@dataclass(frozen=True)
class Single:
    """A table of at most one row: `name` says whether that is there."""

    name: str
    columns: Columns
    nullable: set[tuple[str, int]]
    small: frozenset[int] = frozenset()

    def row(self) -> list[Value]:
        return [
            Value(f"{self.name}_c{j}", self.valid(j), j in self.small)
            for j in range(len(self.columns))
        ]

    def valid(self, j: int) -> str | None:
        return f"{self.name}_v{j}" if (self.name, j) in self.nullable else None

    def clear(self, w: Writer) -> None:
        w.line(f"{self.name} = False")
        for j, (_, kind) in enumerate(self.columns):
            w.line(f"{self.name}_c{j} = {zero(kind)}")
            if (valid := self.valid(j)) is not None:
                w.line(f"{valid} = False")


@dataclass(frozen=True)
class Many:
    """A table of any number of rows: arrays, in which those of the instance lie from `_b` to `_n`.

    The instance may use all that lies behind `_s`. `stored` ones are only read. `key` is the
    column by which rows are found: `_h` and `_e` are the slots of its index, `_y` leads from a row
    to the next one of the same key. Of a table that `forgets`, rows that are deleted stay in their
    places for a while, and `_a` says which are there; `_dead` is how many are not.
    """

    name: str
    columns: Columns
    nullable: set[tuple[str, int]]
    small: frozenset[int] = frozenset()
    stored: bool = False
    key: int | None = None
    forgets: bool = False

    def row(self, at: str) -> list[Value]:
        found = []
        for j in range(len(self.columns)):
            valid = self.valid(j)
            known = None if valid is None else f"{valid}[{at}]"
            found.append(Value(f"{self.name}_c{j}[{at}]", known, j in self.small))
        return found

    def valid(self, j: int) -> str | None:
        return f"{self.name}_v{j}" if (self.name, j) in self.nullable else None

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The names of the arrays that are kept between steps, and their types."""
        found = [(f"{self.name}_c{j}", array_type(t)) for j, (_, t) in enumerate(self.columns)]
        names = [valid for j in range(len(self.columns)) if (valid := self.valid(j))]
        return [*found, *((name, "np.bool_") for name in names)]

    @property
    def arrays(self) -> list[tuple[str, str]]:
        """The names of all of its arrays by row."""
        found = self.kept
        if self.key is not None:
            found.append((f"{self.name}_y", "np.int64"))
        if self.forgets:
            found.append((f"{self.name}_a", "np.bool_"))
        return found

    def allocate(self, size: str) -> list[str]:
        return [f"{name} = np.empty({size}, {kind})" for name, kind in self.arrays]


@dataclass(eq=False)
class Scope:
    """What the names of a routine mean: its arguments, its tables, `sqlcode`, where rows go."""

    routine: Routine
    parent: Scope | None
    arguments: dict[str, Value]
    tables: dict[str, Single | Many]
    give: Sink
    sqlcode: str | None = None
    oldest: Callable[[str], Value] | None = None

    def around(self, depth: int) -> Scope:
        scope: Scope | None = self
        for _ in range(depth):
            scope = scope and scope.parent
        if scope is None:
            raise NotNative("a name of the definition around is used from elsewhere")
        return scope


@dataclass(frozen=True)
class Place:
    """Where a statement is written. `fields` are the columns of the rows at hand, `known` are
    expressions that have been computed before, `ends` say how far a table is seen that grows."""

    program: Program
    scope: Scope
    fields: Mapping[tuple[int, str], Value] = field(default_factory=dict)
    results: Mapping[tuple[int, str], Value] = field(default_factory=dict)
    known: Mapping[Expression, Value] = field(default_factory=dict)
    ends: Mapping[str, str] = field(default_factory=dict)

    @property
    def w(self) -> Writer:
        return self.program.writer

    def with_row(self, label: int, columns: Columns, row: Sequence[Value]) -> Place:
        fields = {(label, name): value for (name, _), value in zip(columns, row)}
        return replace(self, fields={**self.fields, **fields})

    def knowing(self, known: Mapping[Expression, Value]) -> Place:
        return replace(self, known={**self.known, **known}) if known else self

    def table(self, name: str, depth: int = 0) -> Single | Many:
        found = self.scope.around(depth).tables.get(name)
        if found is None:
            raise NotNative(f'table "{name}" is not at hand')
        return found

    def stored(self, table: Stored) -> Many:
        """A table of the system, whose columns are handed in."""
        program = self.program
        if table not in program.stored:
            program.stored.append(table)
        name = f"g{program.stored.index(table)}"
        kinds = [(f.name, f.type) for f in table.rows.schema]
        for j, column in enumerate(table.rows.columns):
            if column.null_count:
                program.nullable.add((name, j))
        return Many(name, tuple(kinds), program.nullable, stored=True)


def may_be_null(place: Place, table: str, column: int, value: Value) -> None:
    """Note that a value is put into a column."""
    if value.valid is not None:
        place.program.nullable.add((table, column))


def compares_by_order(place: Place, kind: pa.DataType) -> None:
    if kind == STRING:
        place.program.orders_texts = True
