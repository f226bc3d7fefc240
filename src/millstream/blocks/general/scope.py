"""Frames, in which closures run, and the scopes that know the places in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.algebra.expressions import Expression
from millstream.blocks.general.values import Row
from millstream.blocks.queries import Columns, Query, Source
from millstream.blocks.routine import INWINDOW, Routine

if TYPE_CHECKING:
    from millstream.blocks.general.library import Library

Frame = list[Any]
"""What an instance works on: the places below, its arguments and tables, then what the statement
that runs needs: a row of each of its sources, results of its calls, answers that it keeps."""

SQLCODE, PARENT, LIVE, RETURNED, DEPTH, WINDOW = range(6)
"""The code of the last statement, the frame of the routine around, this frame itself (a statement
may run on a copy), the rows returned so far, how deep calls are nested, and `inwindow`."""

Code = Callable[[Frame], Any]
"""A compiled expression."""

Find = Callable[[Frame], Iterable[Row]]


@dataclass(frozen=True)
class Rows:
    """A compiled query: all its rows, and the first of them, or None."""

    all: Callable[[Frame], list[Row]]
    first: Callable[[Frame], Row | None]


Ways = Mapping[type, Callable[[Any, "Scope"], Any]]
"""How each kind of expression and query is compiled."""


@dataclass(frozen=True)
class Place:
    """Where a table or row lies in a frame, and its columns."""

    slot: int
    columns: Columns

    def index(self, name: str) -> int:
        return [column for column, _ in self.columns].index(name)


class Shape:
    """The frame of a routine: `size` is known once its blocks are compiled."""

    def __init__(self, routine: Routine, around: Shape | None, library: Library) -> None:
        self.routine, self.around, self.library = routine, around, library
        first = WINDOW + 1
        self.arguments = {name: first + i for i, (name, _) in enumerate(routine.arguments)}
        first += len(self.arguments)
        self.tables = {
            table.name: Place(first + i, table.columns) for i, table in enumerate(routine.tables)
        }
        self.tables[INWINDOW] = Place(WINDOW, routine.inwindow or routine.arguments)
        self.base = self.size = first + len(routine.tables)

    def up(self, depth: int) -> Shape:
        """The shape of the routine around, so many times."""
        shape = self
        for _ in range(depth):
            assert shape.around is not None, "the binder has counted the routines around"
            shape = shape.around
        return shape


@dataclass
class Places:
    """The places that a statement takes; another statement takes the same ones."""

    next: int
    fields: dict[int, Place] = field(default_factory=dict)
    answers: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Scope:
    """What a part of a statement may name. `expiring` is its routine's tuple that leaves: then
    `oldest()` are the arguments. `calls` are the places of the results of the select around."""

    shape: Shape
    ways: Ways
    places: Places
    expiring: bool = False
    calls: tuple[Place, ...] = ()

    def code(self, expression: Expression) -> Code:
        return self.ways[type(expression)](expression, self)

    def codes(self, expressions: Iterable[Expression]) -> tuple[Code, ...]:
        return tuple(self.code(expression) for expression in expressions)

    def query(self, query: Query) -> Rows:
        return self.ways[type(query)](query, self)

    def take(self) -> int:
        """A place of its own."""
        slot = self.places.next
        self.places.next += 1
        self.shape.size = max(self.shape.size, self.places.next)
        return slot

    def keep(self) -> int:
        """A place that is None whenever the statement begins."""
        slot = self.take()
        self.places.answers.append(slot)
        return slot

    def source(self, source: Source, columns: Columns) -> Place:
        """A place for the rows of a source, whose rows have these columns."""
        names = {name for name, _ in columns}
        renamed = len(source.columns) == len(columns)
        known = renamed or not all(name in names for name, _ in source.columns)
        return self.row(source.label, source.columns if known else columns)

    def row(self, label: int, columns: Columns) -> Place:
        place = self.places.fields[label] = Place(self.take(), columns)
        return place


def frame_at(depth: int) -> Callable[[Frame], Frame]:
    """From a frame to that of the routine around, so many times."""
    if depth == 0:
        return lambda f: f
    if depth == 1:
        return lambda f: f[PARENT]
    further = frame_at(depth - 1)
    return lambda f: further(f[PARENT])


def kinds(columns: Columns) -> list[pa.DataType]:
    return [kind for _, kind in columns]
