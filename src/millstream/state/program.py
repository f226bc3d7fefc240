"""Programs that take one event after the other, natively, with a slot of state per partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, take_rows
from millstream.columns.keys import as_floats, as_words, validity
from millstream.state.by_key import RowByKey
from millstream.state.chunks import Part
from millstream.state.ordered_run import OrderedRun, keys_of

Results = tuple[np.ndarray, ...]
Native = Callable[..., Results]
"""`native(order, columns, slots, *constants)`, compiled: it goes through the events of an `Order`,
reads `columns` by the number of an event, each as (values, valid), changes `slots` by the number of
a partition, and gives arrays of results."""


@dataclass(frozen=True)
class Slot:
    """A number that is kept of every partition, and what it is for a new one."""

    name: str
    kind: type
    new: float = 0


@dataclass(frozen=True)
class Program:
    """A native program over ordered runs, and what it keeps of every partition.

    `over` says, from the slots by name, of which partitions nothing needs to be kept: only of those
    whose slots mean the same to the program as those of a new one. Without it all are kept.
    Law: if the events of a partition are handed in in order, results do not depend on the cut.
    State: a row of slots for every partition. Cost: the events, and the partitions they touch.
    """

    native: Native
    slots: tuple[Slot, ...]
    over: Callable[[dict[str, np.ndarray]], np.ndarray] | None = None

    def step(
        self,
        part: Part | None,
        names: Sequence[str],
        arrivals: Changes,
        ends: Changes,
        columns: Sequence[str] = (),
        constants: tuple[Any, ...] = (),
        turns: np.ndarray | None = None,
    ) -> tuple[Part | None, OrderedRun, Results]:
        """Take the events of a step: the state after them, the run, and the results.

        `names` are the columns that make a partition, `columns` those that the program reads.
        Arrivals come in the order of time and arrival, what leaves in the order in which it does.
        """
        keys = keys_of(names, arrivals, ends)
        schema = pa.schema([*keys.schema, *self._fields])
        stored = RowByKey(part, schema, len(keys.schema))
        known = stored.touched(keys)
        run = OrderedRun.of(known, names, arrivals, ends, turns)
        slots = {s.name: run.slot(known, s.name, s.new) for s in self.slots}
        read = tuple(numbers(run.column(name)) for name in columns)
        results = self.native(run.order, read, tuple(slots.values()), *constants)
        if len(run) == 0:
            return part, run, results
        return self._kept(stored, known, run, slots), run, results

    @property
    def _fields(self) -> list[pa.Field]:
        return [pa.field(s.name, pa.from_numpy_dtype(np.dtype(s.kind))) for s in self.slots]

    def _kept(
        self, stored: RowByKey, known: pa.RecordBatch, run: OrderedRun, slots: dict[str, np.ndarray]
    ) -> Part:
        rows = pa.RecordBatch.from_arrays(
            [*run.keys.columns, *map(pa.array, slots.values())], schema=stored.schema
        )
        changed = int(run.touched.sum())
        if self.over is None:
            return stored.after(known.slice(0, 0), rows, changed)
        over = self.over(slots)
        gone = take_rows(known, np.flatnonzero(over[: run.known]))
        return stored.after(gone, take_rows(rows, np.flatnonzero(~over)), changed)


def numbers(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """A column as native code reads it: doubles, or words that are equal in this step when the
    values are, and where it is not NULL."""
    valid = validity(column)
    values = as_floats(column) if pa.types.is_floating(column.type) else as_words(column)
    return values, np.ones(len(column), np.bool_) if valid is None else valid
