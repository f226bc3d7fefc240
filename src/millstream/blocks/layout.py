"""What machines keep of a routine: which of its tables hold at most one row, and the schemas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.blocks.foreign import ONE, SELF, Foreign, PythonClass
from millstream.blocks.leaves import Oldest, SqlCode
from millstream.blocks.machine import Frame
from millstream.blocks.queries import Local, Query, Select, Source, Values
from millstream.blocks.routine import (
    INWINDOW,
    Block,
    Delete,
    Insert,
    LocalTable,
    Routine,
    Statement,
    Update,
    is_return,
)
from millstream.blocks.walking import parts_of

BEGUN, SQLCODE, NUMBER, INSTANT = "begun", "sqlcode", "#number", "#instant"
REFUSED = "#refused"


@dataclass(frozen=True)
class Layout:
    """The state of the instances of a routine in a frame, the same for every machine.

    Slots: whether the instance has begun; its `sqlcode` where a statement asks for it; of table
    number i, if it holds at most one row (`singles`), whether that is there, `t<i>`, and its
    columns, `t<i>.c<j>`, NULL where there is no row. The other tables lie in `many`; `inwindow` is
    the last of them where it is held, with the number of every tuple in its partition (`#number`)
    and, in a window by time that is driven by arrivals, its instant (`#instant`). Of a class whose
    methods may raise and that is told who leaves, `#refused` has the numbers of the tuples that it
    could not take: they do not expire.
    """

    routine: Routine
    frame: Frame | None

    @cached_property
    def held(self) -> bool:
        """Whether the machine holds `inwindow` itself: a statement reads it or deletes from it, or
        asks for the oldest tuple where that is not the one that leaves."""
        return self.routine.inwindow is not None and _holds(self.routine, 0)

    @property
    def takes_leavers(self) -> bool:
        """See `Machine.takes_leavers`."""
        if self.frame is None or (self.frame.rows is None and self.frame.length is None):
            return self.frame is not None and self.frame.active
        return self.frame.active or (bool(self.routine.expire) and not self.held)

    @cached_property
    def asks_sqlcode(self) -> bool:
        blocks = tuple(s for routine in family(self.routine) for s in routine)
        begins = tuple(table.begins for table in self.routine.tables)
        return any(isinstance(part, SqlCode) for part in parts_of((*blocks, *begins)))

    @cached_property
    def singles(self) -> tuple[LocalTable, ...]:
        return tuple(t for t in self.routine.tables if holds_one_row(self.routine, t.name))

    @cached_property
    def many(self) -> tuple[LocalTable, ...]:
        return tuple(t for t in self.routine.tables if t not in self.singles)

    @cached_property
    def slots(self) -> pa.Schema:
        fields = [pa.field(BEGUN, BOOLEAN)]
        fields += [pa.field(SQLCODE, INTEGER)] if self.asks_sqlcode else []
        for i, table in enumerate(self.routine.tables):
            if table in self.singles:
                fields.append(pa.field(f"t{i}", BOOLEAN))
                fields += [
                    pa.field(f"t{i}.c{j}", kind) for j, (_, kind) in enumerate(table.columns)
                ]
        return pa.schema(fields)

    @cached_property
    def tables(self) -> tuple[tuple[str, pa.Schema], ...]:
        found = [(t.name, pa.schema(list(t.columns))) for t in self.many]
        if self.notes_refused:
            return (*found, (REFUSED, pa.schema([pa.field(NUMBER, INTEGER)])))
        return (*found, *([(INWINDOW, self._inwindow)] if self.held else []))

    @cached_property
    def notes_refused(self) -> bool:
        """Whether tuples that could not be taken must be known when they leave."""
        foreign = any(isinstance(s, Foreign) for s in self.routine.expire or ())
        return foreign and self.takes_leavers and not self.held

    @property
    def _inwindow(self) -> pa.Schema:
        assert self.routine.inwindow is not None
        fields = [pa.field(name, kind) for name, kind in self.routine.inwindow]
        fields.append(pa.field(NUMBER, INTEGER))
        if self.keeps_instants:
            fields.append(pa.field(INSTANT, INTEGER))
        return pa.schema(fields)

    @property
    def keeps_instants(self) -> bool:
        frame = self.frame
        return frame is not None and frame.length is not None and not frame.active

    @property
    def returns(self) -> pa.Schema:
        return pa.schema(list(self.routine.returns))


def family(routine: Routine) -> Iterator[Iterator[Statement]]:
    """The statements of a routine and, routine by routine, of those defined inside it."""
    yield routine.statements()
    for inner in routine.inner:
        yield from family(inner)


def _holds(routine: Routine, depth: int) -> bool:
    begins = tuple(table.begins for table in routine.tables)
    blocks = (routine.expire, begins, routine.initialize, routine.iterate, routine.terminate)
    for at, block in enumerate(blocks):
        for part in parts_of(block or ()):
            match part:
                case Local(name=name, depth=d) if name == INWINDOW and d == depth:
                    return True
                case Delete(table=name, depth=d) if name == INWINDOW and d == depth:
                    return True
                case Oldest() if depth == 0 and at > 0:
                    return True
                case PythonClass(sees_window=True) if depth == 0:
                    return True
    return any(_holds(inner, depth + 1) for inner in routine.inner)


def holds_one_row(routine: Routine, table: str) -> bool:
    """Whether a table provably never holds more than one row.

    The number of its rows is followed through the blocks: an INSERT of one row adds one, a DELETE
    without a condition leaves none. Tables that inner routines fill are not followed.
    """
    inner = (p for r in routine.inner for statements in family(r) for p in statements)
    if any(isinstance(s, Insert) and s.table == table and s.depth for s in inner):
        return False
    begins = next((t.begins for t in routine.tables if t.name == table), None)
    at_first = 0 if begins is None else _most(begins)
    later = {_after(routine.initialize, table, at_first)}
    blocks = [b for b in (routine.iterate, routine.expire, routine.terminate) if b]
    while max(later) <= 1:
        found = {_after(block, table, rows) for block in blocks for rows in later}
        if found <= later:
            return True
        later |= found
    return False


_MANY = 2


def _after(block: Block, table: str, rows: int) -> int:
    """How many rows the table has at most after a block, if it had so many before."""
    last: Statement | None = None
    for statement in block:
        match statement:
            case Insert(table=name, depth=0, query=query) if name == table:
                rows = _most(query) + (0 if _if_none(query, last, table) else rows)
                if rows >= _MANY:
                    return _MANY
            case Delete(table=name, depth=0, where=None) if name == table:
                rows = 0
            case Foreign():
                rows = 1 if table == SELF else _MANY
        last = statement
    return rows


def _if_none(query: Query, last: Statement | None, table: str) -> bool:
    """Whether rows are put in only if an UPDATE of all rows just before found none."""
    if not isinstance(last, Update) or last.table != table or last.where is not None:
        return False
    return isinstance(query, Values) and str(query.where) in (
        "(sqlcode = 1)",
        "(sqlcode > 0)",
        "(sqlcode <> 0)",
    )


def _most(query: Query) -> int:
    """How many rows a query gives at most: 1, or many."""
    match query:
        case Values(rows=(_,)) | Select(sources=(), calls=()):
            return 1
        case Select(keys=(), calls=calls) if all(isinstance(c.function, Aggregate) for c in calls):
            return 1
    return _MANY


def gives_one_row(routine: Routine) -> bool:
    """Whether an aggregate that is fed some rows, and then ends, provably gives one row at most:
    it returns in TERMINATE only, from one row."""
    before = (*routine.initialize, *routine.iterate, *(routine.expire or ()))
    if any(is_return(s) for s in before) or not routine.terminate:
        return False
    returns = [s for s in routine.terminate if is_return(s)]
    return len(returns) == 1 and _gives_one(routine, returns[0])


def _gives_one(routine: Routine, statement: Statement) -> bool:
    if isinstance(statement, Foreign):
        return statement.gives == ONE
    if not isinstance(statement, Insert):
        return False
    match statement.query:
        case Select(sources=(Source(of=Local(name=name, depth=0)),), keys=None):
            return name != INWINDOW and holds_one_row(routine, name)
        case query:
            return _most(query) == 1
