"""Tables of an instance: rows in the order of insertion, found by equality through indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from millstream.blocks.general.values import Row

SMALL = 8
"""So many rows are looked through faster than an index is made."""

Journal = list[tuple["Table", int, Row | None]]
"""What rows were before they changed, None where there was none; the newest change last."""


class Table:
    """Rows by a number that grows with every insertion.

    Law: `rows` lies in the order of the numbers. An index of a column is made when it is first
    asked for, and kept up from then on. `journal`, where there is one, hears of every change.
    """

    __slots__ = ("indexes", "journal", "next", "rows")

    def __init__(self, rows: Iterable[Row] = (), journal: Journal | None = None) -> None:
        self.rows: dict[int, Row] = dict(enumerate(rows))
        self.next = len(self.rows)
        self.indexes: dict[int, dict[Any, dict[int, None]]] = {}
        self.journal = journal

    def insert(self, rows: Iterable[Row]) -> None:
        for row in rows:
            at = self.next
            self.next = at + 1
            self.rows[at] = row
            if self.indexes or self.journal is not None:
                self._changed(at, None, row)

    def update(self, changes: Sequence[tuple[int, Row]]) -> None:
        """Rows by number; those that are no longer there are passed over."""
        rows = self.rows
        for at, row in changes:
            if at in rows:
                before, rows[at] = rows[at], row
                if self.indexes or self.journal is not None:
                    self._changed(at, before, row)

    def delete(self, numbers: Iterable[int]) -> None:
        for at in numbers:
            row = self.rows.pop(at, None)
            if row is not None and (self.indexes or self.journal is not None):
                self._changed(at, row, None)

    def find(self, column: int, value: Any) -> Iterable[tuple[int, Row]]:
        """Rows with their numbers: those of the value, in order, if there are more than a few, or
        just all, so conditions are still to be tested. None and NaN are equal to nothing."""
        rows = self.rows
        if len(rows) <= SMALL:
            return rows.items()
        if value is None or value != value:
            return ()
        index = self.indexes.get(column)
        found = (self._index(column) if index is None else index).get(value)
        return [(at, rows[at]) for at in sorted(found)] if found else ()

    def frozen(self) -> Table:
        """A copy that stays as it is."""
        copy = Table()
        copy.rows = dict(self.rows)
        return copy

    def put_back(self, at: int, row: Row | None) -> None:
        """Undo a change; `in_order` comes after the last."""
        before = self.rows.pop(at, None)
        if row is not None:
            self.rows[at] = row
        if self.indexes:
            self._indexed(at, before, row)

    def in_order(self) -> None:
        self.rows = dict(sorted(self.rows.items()))

    def _changed(self, at: int, before: Row | None, after: Row | None) -> None:
        if self.journal is not None:
            self.journal.append((self, at, before))
        if self.indexes:
            self._indexed(at, before, after)

    def _indexed(self, at: int, before: Row | None, after: Row | None) -> None:
        for column, index in self.indexes.items():
            if before is not None:
                here = index[before[column]]
                del here[at]
                if not here:
                    del index[before[column]]
            if after is not None:
                index.setdefault(after[column], {})[at] = None

    def _index(self, column: int) -> dict[Any, dict[int, None]]:
        index: dict[Any, dict[int, None]] = {}
        for at, row in self.rows.items():
            index.setdefault(row[column], {})[at] = None
        self.indexes[column] = index
        return index


class Window(Table):
    """`inwindow`: rows by the number of their tuple, with the instant of each.

    `first` is not above the number of the oldest.
    """

    __slots__ = ("first", "instants")

    def __init__(self, journal: Journal | None = None) -> None:
        super().__init__((), journal)
        self.instants: dict[int, int] = {}
        self.first = 0

    def enter(self, number: int, instant: int, row: Row) -> None:
        if not self.rows:
            self.first = number
        self.next = number
        self.instants[number] = instant
        self.insert((row,))

    def oldest(self) -> int | None:
        """The number of the oldest tuple; None where there is none."""
        rows = self.rows
        if not rows:
            return None
        first = self.first
        while first not in rows:
            first += 1
        self.first = first
        return first

    def forget(self) -> None:
        """Drop the instants of tuples that have gone."""
        if len(self.instants) > 2 * len(self.rows) + SMALL:
            self.instants = {at: self.instants[at] for at in self.rows}

    def frozen(self) -> Window:
        copy = Window()
        copy.rows, copy.instants, copy.first = dict(self.rows), self.instants, self.first
        return copy

    def put_back(self, at: int, row: Row | None) -> None:
        super().put_back(at, row)
        self.first = min(self.first, at)


def take_back(journal: Journal) -> None:
    """Undo all that a journal has heard of."""
    for table, at, row in reversed(journal):
        table.put_back(at, row)
    for table in {id(table): table for table, _, _ in journal}.values():
        table.in_order()
    journal.clear()
