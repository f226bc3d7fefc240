"""What instances keep between steps, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.blocks.general.compiled import Compiled
from millstream.blocks.general.scope import SQLCODE, WINDOW, Frame
from millstream.blocks.general.table import Journal, Table, Window
from millstream.blocks.general.values import Row, batch_of, rows_of
from millstream.blocks.machine import Instances, Rows
from millstream.blocks.routine import INWINDOW

SLOTS = pa.schema([("#begun", pa.bool_()), ("#sqlcode", pa.int64())])
WINDOW_SLOTS = (("#number", pa.int64()), ("#instant", pa.int64()))

Tables = tuple[tuple[str, pa.Schema], ...]


def tables_of(compiled: Compiled, holds_window: bool) -> Tables:
    """The tables of every instance; `inwindow`, where it is held, comes last."""
    tables = [(table.name, pa.schema(table.columns)) for table in compiled.routine.tables]
    if holds_window:
        columns = compiled.layout.tables[INWINDOW].columns
        tables.append((INWINDOW, pa.schema([*WINDOW_SLOTS, *columns])))
    return tuple(tables)


def nothing(tables: Tables) -> Instances:
    """What no instances keep."""
    none = np.zeros(0, np.int64)
    return Instances(
        batch_of((), SLOTS),
        tuple(Rows(none, batch_of((), schema)) for _, schema in tables),
    )


@dataclass
class Kept:
    """The instances with events, read from what is kept, and written back.

    Cost: the rows of those instances; the others are passed on as columns.
    """

    compiled: Compiled
    tables: Tables
    before: Instances
    touched: np.ndarray
    count: int
    rows: list[list[Row]] = field(init=False)
    spans: list[np.ndarray] = field(init=False)
    out: list[list[Row]] = field(init=False)
    owners: list[list[int]] = field(init=False)
    begun: list[bool] = field(init=False)
    codes: list[int] = field(init=False)

    def __post_init__(self) -> None:
        known = self.before.slots.num_rows
        self.begun = self.before.slots.column(0).to_pylist() + [False] * (self.count - known)
        self.codes = self.before.slots.column(1).to_pylist() + [0] * (self.count - known)
        mine = [self._mine(rows) for rows in self.before.tables]
        self.rows = [rows_of(rows.rows) for rows in mine]
        bounds = np.arange(self.count + 1)
        self.spans = [np.searchsorted(rows.owner, bounds) for rows in mine]
        self.out = [[] for _ in self.tables]
        self.owners = [[] for _ in self.tables]

    def _mine(self, rows: Rows) -> Rows:
        if self.touched.all():
            return rows
        mine = self.touched[rows.owner]
        return Rows(rows.owner[mine], rows.rows.filter(pa.array(mine)))

    def load(self, instance: int, frame: Frame, journal: Journal | None) -> bool:
        """Put the tables of an instance into the frame; whether it has begun."""
        frame[SQLCODE] = self.codes[instance]
        parts = [
            rows[spans[instance] : spans[instance + 1]]
            for rows, spans in zip(self.rows, self.spans)
        ]
        for slot, part in zip(self.compiled.tables, parts):
            frame[slot] = Table(part, journal)
        if len(parts) > len(self.compiled.tables):
            frame[WINDOW] = window = Window(journal)
            for number, instant, *row in parts[-1]:
                window.rows[number] = tuple(row)
                window.instants[number] = instant
            window.first = next(iter(window.rows), 0)
        return self.begun[instance]

    def store(self, instance: int, frame: Frame, begun: bool) -> None:
        """Take what an instance keeps out of the frame; nothing when it has not begun, or is
        over."""
        self.begun[instance] = begun
        self.codes[instance] = frame[SQLCODE] if begun else 0
        if not begun:
            return
        for at, slot in enumerate(self.compiled.tables):
            self._put(at, instance, frame[slot].rows.values())
        if len(self.tables) > len(self.compiled.tables):
            window = frame[WINDOW]
            instants = window.instants
            rows = [(at, instants[at], *row) for at, row in window.rows.items()]
            self._put(len(self.tables) - 1, instance, rows)

    def _put(self, table: int, instance: int, rows: Sequence[Row]) -> None:
        self.out[table].extend(rows)
        self.owners[table].extend([instance] * len(rows))

    def after(self) -> Instances:
        """What all instances keep now."""
        slots = [pa.array(self.begun, pa.bool_()), pa.array(self.codes, pa.int64())]
        tables = []
        for at, (_, schema) in enumerate(self.tables):
            owner = np.array(self.owners[at], np.int64)
            made = Rows(owner, batch_of(self.out[at], schema))
            tables.append(made if self.touched.all() else self._merged(at, made))
        return Instances(pa.RecordBatch.from_arrays(slots, schema=SLOTS), tuple(tables))

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
