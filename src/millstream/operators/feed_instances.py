"""What instances of routines keep between steps: a row of slots each, and the rows of their tables.

A step loads the instances of the partitions that it brings, and writes those it has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import take_rows
from millstream.blocks.layout import NUMBER, Layout
from millstream.blocks.machine import Instances, Rows
from millstream.state.by_key import BagByKey, RowByKey
from millstream.state.chunks import Log, Part, State
from millstream.state.ordered_run import OrderedRun

PLACE = "#place"
"""Where a row stands in its table."""


@dataclass(frozen=True, eq=False)
class Kept:
    """The instances of some routines, by key; `numbers` are more that is kept of every key.

    State: a row of every key, and the rows of the tables, by key and place.
    """

    name: str
    keys: pa.Schema
    layouts: tuple[Layout, ...]
    numbers: tuple[tuple[str, int], ...] = ()
    """Names, and what they are for a new key."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts of the state."""
        tables = [
            self._table(i, at)
            for i, layout in enumerate(self.layouts)
            for at in range(len(layout.tables))
        ]
        return (self.name, *tables)

    def _table(self, layout: int, at: int) -> str:
        return f"{self.name} table {layout}.{at}"

    @cached_property
    def schema(self) -> pa.Schema:
        fields = [pa.field(name, pa.int64()) for name, _ in self.numbers]
        for i, layout in enumerate(self.layouts):
            fields += [pa.field(f"#{i} {f.name}", f.type) for f in layout.slots]
        return pa.schema([*self.keys, *fields])

    def stored(self, state: State) -> RowByKey:
        return RowByKey(state.get(self.name), self.schema, len(self.keys))

    def load(
        self, state: State, known: pa.RecordBatch, run: OrderedRun
    ) -> tuple[list[Instances], list[list[pa.RecordBatch]]]:
        """The instances of every routine as they are handed in, and what was stored of tables."""
        instances, found = [], []
        at = len(self.keys) + len(self.numbers)
        for i, layout in enumerate(self.layouts):
            arrays = known.columns[at : at + len(layout.slots)]
            at += len(layout.slots)
            slots = _batch(arrays, layout.slots, known.num_rows)
            saved = [
                self._bag(i, place, schema, state).touched(run.touched_keys)
                for place, (_, schema) in enumerate(layout.tables)
            ]
            tables = [
                self._owned(batch, schema, run) for batch, (_, schema) in zip(saved, layout.tables)
            ]
            instances.append(Instances(slots, tuple(tables)))
            found.append(saved)
        return instances, found

    def after(
        self,
        state: State,
        known: pa.RecordBatch,
        run: OrderedRun,
        numbers: Sequence[np.ndarray],
        after: Sequence[Instances],
        found: Sequence[Sequence[pa.RecordBatch]],
        over: np.ndarray | None = None,
    ) -> dict[str, Part]:
        """The parts of the state after a step; instances that are over are forgotten."""
        slots = [column for instances in after for column in instances.slots.columns]
        rows = _batch(
            [*run.keys.columns, *map(pa.array, numbers), *slots], self.schema, run.partitions
        )
        gone, stored, changed = known.slice(0, 0), self.stored(state), int(run.touched.sum())
        if over is not None:
            gone = take_rows(known, np.flatnonzero(over[: run.known]))
            rows = take_rows(rows, np.flatnonzero(~over))
        part = stored.after(gone, rows, changed)
        parts: dict[str, Part] = {self.name: part}
        for i, layout in enumerate(self.layouts):
            for at, (_, schema) in enumerate(layout.tables):
                bag, table = self._bag(i, at, schema, state), after[i].tables[at]
                now, owner = self._placed(table, schema, run), table.owner
                if over is not None:
                    stays = np.flatnonzero(~over[owner])
                    now, owner = take_rows(now, stays), owner[stays]
                moved = int(run.touched[owner].sum())
                is_index = isinstance(part, Log)
                parts[self._table(i, at)] = bag.after(found[i][at], now, moved, is_index)
        return parts

    def _bag(self, layout: int, at: int, schema: pa.Schema, state: State) -> BagByKey:
        count = pa.field("#count", pa.int64())
        columns = [pa.field(f"#{i}", f.type) for i, f in enumerate(schema)]
        stored = pa.schema([*self.keys, pa.field(PLACE, pa.int64()), *columns, count])
        return BagByKey(state.get(self._table(layout, at)), stored, len(self.keys))

    def _owned(self, saved: pa.RecordBatch, schema: pa.Schema, run: OrderedRun) -> Rows:
        """The rows of a table by instance, in their order."""
        width = len(self.keys)
        owner = run.partition_of(saved.select(list(range(width))), saved.num_rows)
        order = np.lexsort((saved.column(width).to_numpy(), owner))
        rows = _batch(saved.columns[width + 1 : -1], schema, saved.num_rows)
        return Rows(owner[order], take_rows(rows, order))

    def _placed(self, table: Rows, schema: pa.Schema, run: OrderedRun) -> pa.RecordBatch:
        """The rows of a table as they are stored."""
        keys, count = take_rows(run.keys, table.owner).columns, len(table.owner)
        ones = pa.array(np.ones(count, np.int64))
        stored = self._bag(0, 0, schema, {}).schema
        return _batch(
            [*keys, pa.array(places(table, schema)), *table.rows.columns, ones], stored, count
        )


def places(table: Rows, schema: pa.Schema) -> np.ndarray:
    """Where rows stand among those of their instance; numbered tuples lie by their numbers."""
    if NUMBER in schema.names:
        return table.rows.column(schema.get_field_index(NUMBER)).to_numpy()
    here = np.arange(len(table.owner))
    return here - np.searchsorted(table.owner, table.owner)


def _batch(columns: Sequence[pa.Array], schema: pa.Schema, length: int) -> pa.RecordBatch:
    """A batch of so many rows, also without columns."""
    if len(schema) == 0:
        return _bare(length)
    return pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _bare(length: int) -> pa.RecordBatch:
    whole = pa.RecordBatch.from_arrays([pa.nulls(length)], ["#"])
    return whole.select([])
