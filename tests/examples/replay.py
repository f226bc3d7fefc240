"""The relation behind a result at an instant: its changes, or its elements, up to then."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

import pyarrow as pa

from millstream.engine.outputs import STREAM, Query
from oracle.spec import EPOCH, Row, instant_of

__all__ = ["EPOCH", "Replay"]


@dataclass(frozen=True)
class Replay:
    """A result of a query, read from its file: rows of a stream, or tagged changes."""

    query: Query
    table: pa.Table
    rows: list[Row] = field(init=False)

    def __post_init__(self) -> None:
        columns = [column.to_pylist() for column in self.table.columns]
        object.__setattr__(self, "rows", list(zip(*columns)))

    def at(self, instant: int) -> list[Row]:
        """The bag at an instant; of a stream, that of the unbounded window over it."""
        if self.query.form == STREAM:
            return [row[1:] for row in self.rows if instant_of(row[0]) <= instant]
        held: list[Row] = []
        past = (row for row in self.rows if instant_of(row[1]) <= instant)
        for _, changes in groupby(past, key=lambda row: row[1]):
            self._apply(held, list(changes))
        return held

    def _apply(self, held: list[Row], changes: list[Row]) -> None:
        """All changes of one instant: what leaves or is replaced, then what enters or replaces."""
        names = self.query.plan.schema.names
        key = self.query.plan.key
        places = range(len(names)) if key is None else [names.index(name) for name in key]

        def key_of(row: Row) -> Row:
            return tuple(row[i] for i in places)

        for op, _, *row in changes:
            if op != "+":
                held.remove(next(other for other in held if key_of(other) == key_of(tuple(row))))
        held += [tuple(row) for op, _, *row in changes if op != "-"]
