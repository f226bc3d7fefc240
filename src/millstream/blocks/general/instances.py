"""What instances keep between steps: from columns to frames, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.blocks.general.compiled import Compiled
from millstream.blocks.general.scope import SQLCODE, WINDOW, Frame
from millstream.blocks.general.table import Journal, Table, Window
from millstream.blocks.general.values import Row, batch_of, from_arrow, rows_of, to_arrow
from millstream.blocks.layout import BEGUN, Layout
from millstream.blocks.layout import SQLCODE as KEPT_SQLCODE
from millstream.blocks.machine import Instances, Rows


class Kept:
    """The instances of a step: those with events are read, and written back when they are done.

    Cost: the slots of all, and the rows of those with events; rows of others are passed on.
    """

    def __init__(
        self,
        compiled: Compiled,
        layout: Layout,
        before: Instances,
        touched: np.ndarray,
        count: int,
    ) -> None:
        self.compiled, self.layout, self.before = compiled, layout, before
        self.touched, self.count = touched, count
        self.slots = {
            field.name: from_arrow(column) + [_new(field)] * (count - len(column))
            for field, column in zip(layout.slots, before.slots.columns)
        }
        at = {table.name: i for i, table in enumerate(layout.routine.tables)}
        places = {table.name: slot for table, slot in zip(layout.routine.tables, compiled.tables)}
        self.singles = [(places[t.name], f"t{at[t.name]}", len(t.columns)) for t in layout.singles]
        self.many = [places[table.name] for table in layout.many]
        mine = [self._mine(rows) for rows in before.tables]
        self.rows = [rows_of(rows.rows) for rows in mine]
        self.bounds = [np.searchsorted(rows.owner, np.arange(count + 1)) for rows in mine]
        self.refused: set[int] = set()
        """Of the instance that was loaded, the tuples that it could not take (see `Layout`)."""
        self.made: list[list[Row]] = [[] for _ in layout.tables]
        self.owners: list[list[int]] = [[] for _ in layout.tables]

    def _mine(self, rows: Rows) -> Rows:
        if self.touched.all():
            return rows
        mine = self.touched[rows.owner]
        return Rows(rows.owner[mine], rows.rows.filter(pa.array(mine)))

    def load(self, instance: int, frame: Frame, journal: Journal | None) -> bool:
        """Put what an instance keeps into the frame; whether it has begun."""
        slots = self.slots
        frame[SQLCODE] = slots[KEPT_SQLCODE][instance] if KEPT_SQLCODE in slots else 0
        for slot, name, width in self.singles:
            row = [slots[f"{name}.c{i}"][instance] for i in range(width)]
            frame[slot] = Table([tuple(row)] if slots[name][instance] else (), journal)
        parts = [
            rows[bounds[instance] : bounds[instance + 1]]
            for rows, bounds in zip(self.rows, self.bounds)
        ]
        for slot, part in zip(self.many, parts):
            frame[slot] = Table(part, journal)
        if self.layout.held:
            frame[WINDOW] = self._window(parts[-1], journal)
        self.refused = {row[0] for row in parts[-1]} if self.layout.notes_refused else set()
        return slots[BEGUN][instance]

    def _window(self, rows: Sequence[Row], journal: Journal | None) -> Window:
        window = Window(journal)
        width = len(self.compiled.routine.arguments)
        for row in rows:
            window.rows[row[width]] = row[:width]
            window.instants[row[width]] = row[-1]
        window.first = next(iter(window.rows), 0)
        return window

    def store(self, instance: int, frame: Frame, begun: bool) -> None:
        """Take out of the frame what an instance keeps; nothing if it has not begun, or is over."""
        slots = self.slots
        slots[BEGUN][instance] = begun
        if KEPT_SQLCODE in slots:
            slots[KEPT_SQLCODE][instance] = frame[SQLCODE] if begun else 0
        for slot, name, width in self.singles:
            row = next(iter(frame[slot].rows.values()), None) if begun else None
            slots[name][instance] = row is not None
            for i, value in enumerate((None,) * width if row is None else row):
                slots[f"{name}.c{i}"][instance] = value
        for at, rows in enumerate(self._tables_of(frame)) if begun else ():
            self.made[at].extend(rows)
            self.owners[at].extend([instance] * len(rows))
        if self.refused:
            self.made[-1].extend((number,) for number in sorted(self.refused))
            self.owners[-1].extend([instance] * len(self.refused))

    def _tables_of(self, frame: Frame) -> Iterator[Sequence[Row]]:
        for slot in self.many:
            yield list(frame[slot].rows.values())
        if self.layout.held:
            window = frame[WINDOW]
            if self.layout.keeps_instants:
                yield [(*row, at, window.instants[at]) for at, row in window.rows.items()]
            else:
                yield [(*row, at) for at, row in window.rows.items()]

    def after(self) -> Instances:
        """What all instances keep now."""
        schema = self.layout.slots
        columns = [to_arrow(self.slots[field.name], field.type) for field in schema]
        tables = []
        for at, (_, kinds) in enumerate(self.layout.tables):
            made = Rows(np.array(self.owners[at], np.int64), batch_of(self.made[at], kinds))
            tables.append(made if self.touched.all() else self._merged(at, made))
        return Instances(pa.RecordBatch.from_arrays(columns, schema=schema), tuple(tables))

    def _merged(self, at: int, made: Rows) -> Rows:
        """With the rows of the instances that had no events."""
        rows = self.before.tables[at]
        others = ~self.touched[rows.owner]
        owner = np.concatenate([rows.owner[others], made.owner])
        order = np.argsort(owner, kind="stable")
        columns = [
            pa.concat_arrays([a, b]).take(pa.array(order))
            for a, b in zip(rows.rows.filter(pa.array(others)).columns, made.rows.columns)
        ]
        return Rows(owner[order], pa.RecordBatch.from_arrays(columns, schema=made.rows.schema))


def _new(slot: pa.Field) -> Any:
    """A slot of a new instance, which has not begun, and has no rows."""
    if slot.name == KEPT_SQLCODE:
        return 0
    return None if "." in slot.name else False


def nothing(layout: Layout) -> Instances:
    """What no instances keep."""
    none = np.zeros(0, np.int64)
    tables = tuple(Rows(none, batch_of((), schema)) for _, schema in layout.tables)
    return Instances(batch_of((), layout.slots), tables)
