"""A routine as closures: how an instance begins, and its blocks."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.algebra.expressions import Call, Case, Cast, Literal
from millstream.blocks.general import leaves, scalars, selects, subqueries
from millstream.blocks.general.scope import (
    DEPTH,
    LIVE,
    PARENT,
    RETURNED,
    SQLCODE,
    WINDOW,
    Frame,
    Places,
    Rows,
    Scope,
    Shape,
    Ways,
)
from millstream.blocks.general.statements import Run, block
from millstream.blocks.general.table import Journal, Table, Window
from millstream.blocks.general.values import Row
from millstream.blocks.layout import Layout
from millstream.blocks.leaves import (
    Among,
    Argument,
    Exists,
    Field,
    Oldest,
    Quantified,
    Result,
    Scalar,
    SqlCode,
)
from millstream.blocks.queries import Combined, Query, Select, Values
from millstream.blocks.routine import Block

WAYS: Ways = {
    Literal: leaves.literal,
    Argument: leaves.argument,
    Field: leaves.field,
    Result: leaves.result,
    Oldest: leaves.oldest,
    SqlCode: leaves.sqlcode,
    Call: scalars.call,
    Cast: scalars.cast,
    Case: scalars.case,
    Scalar: subqueries.scalar,
    Exists: subqueries.exists,
    Among: subqueries.among,
    Quantified: subqueries.quantified,
    Select: selects.select,
    Values: selects.values,
    Combined: selects.combined,
}
"""How expressions and queries are compiled."""


class Compiled:
    """A routine whose instances are frames; `uses_window` says whether its blocks look at
    `inwindow`.

    Made in two steps, so that a routine can call itself: `complete` compiles the blocks.
    """

    def __init__(self, shape: Shape) -> None:
        routine = shape.routine
        self.shape, self.routine = shape, routine
        self.uses_window = Layout(routine, None).held
        self.arguments = list(shape.arguments.values())
        self.first_argument = WINDOW + 1
        self.tables = [shape.tables[table.name].slot for table in routine.tables]
        self.is_complete = False

    def complete(self) -> None:
        if self.is_complete:
            return
        self.is_complete = True
        routine, shape = self.routine, self.shape
        self._begins = [
            None if table.begins is None else self._query(table.begins) for table in routine.tables
        ]
        self.initialize = self._block(routine.initialize)
        self.iterate = self._block(routine.iterate)
        self.terminate = self._block(routine.terminate or ())
        self.expire = block(routine.expire or (), shape, WAYS, expiring=True)

    def _block(self, statements: Block) -> tuple[Run, ...]:
        return block(statements, self.shape, WAYS)

    def _query(self, query: Query) -> Rows:
        return Scope(self.shape, WAYS, Places(self.shape.base)).query(query)

    def frame(self, around: Frame | None, depth: int) -> Frame:
        """A frame without arguments and tables."""
        frame: Frame = [None] * self.shape.size
        frame[SQLCODE], frame[PARENT], frame[DEPTH] = 0, around, depth
        frame[LIVE], frame[RETURNED] = frame, []
        return frame

    def begin(self, frame: Frame, journal: Journal | None = None) -> None:
        """Make the tables as they are before the first tuple, whose arguments are in place."""
        frame[SQLCODE] = 0
        for slot in self.tables:
            frame[slot] = Table((), journal)
        for slot, begins in zip(self.tables, self._begins):
            if begins is not None:
                frame[self.shape.base :] = [None] * (len(frame) - self.shape.base)
                frame[slot].insert(begins.all(frame))

    def feed(self, frame: Frame, rows: Sequence[Row], newest: bool) -> list[Row]:
        """What a new instance returns for some tuples; none gives none."""
        returned = frame[RETURNED]
        start, stop = self.first_argument, self.first_argument + len(self.arguments)
        for number, row in enumerate(rows):
            frame[start:stop] = row
            if self.uses_window:
                if number == 0:
                    frame[WINDOW] = Window()
                frame[WINDOW].enter(number, number, row)
            if number == 0:
                self.begin(frame)
            if newest:
                returned.clear()
            for statement in self.iterate if number else self.initialize:
                statement(frame)
        for statement in self.terminate if rows else ():
            statement(frame)
        return returned
