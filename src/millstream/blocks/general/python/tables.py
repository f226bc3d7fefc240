"""Tables as methods see them: their own, and the tuples of the window."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from millstream.blocks.general.python.kinds import Unfit, fitting, kind_of, rows_in, rows_out
from millstream.blocks.general.table import Table as StoredTable
from millstream.blocks.general.table import Window
from millstream.blocks.general.values import Row
from millstream.blocks.queries import Columns


class Table:
    """Declares a table that an instance keeps: `seen: Table = Table(user=str, times=int)`.

    In methods the attribute is the table of the instance: see `KeptTable`.
    """

    def __init__(self, **columns: type) -> None:
        self.columns = columns


Condition = Callable[[Any], Any]


class KeptTable:
    """Rows in the order of insertion, each a tuple whose parts have the names of the columns."""

    def __init__(self, stored: StoredTable, columns: Columns) -> None:
        self._stored = stored
        self._names = [name for name, _ in columns]
        self._row = row_type(columns)
        kinds = [kind for _, kind in columns]
        self._seen, self._held = rows_in(kinds), rows_out(kinds)
        self._fits = [fitting(kind) for kind in kinds]
        self._one = [_held_value(kind) for kind in kinds]

    def __len__(self) -> int:
        return len(self._stored.rows)

    def __iter__(self) -> Iterator[Any]:
        row, seen = self._row, self._seen
        return iter([row(*seen(stored)) for stored in self._stored.rows.values()])

    def insert(self, *values: Any) -> None:
        """A row: a value for every column."""
        if len(values) != len(self._names):
            raise Unfit(f"insert takes {len(self._names)} values here, and got {len(values)}")
        self._stored.insert([self._fitting(values)])

    def find(self, **equal: Any) -> list[Any]:
        """The rows whose columns have these values; those of one value are found by an index."""
        return [row for _, row in self._where(None, equal)]

    def update(self, new: Mapping[str, Any], where: Condition | None = None, **equal: Any) -> int:
        """New values for columns of the rows that are meant; says how many these are."""
        changes = []
        for at, row in self._where(where, equal):
            changes.append((at, self._fitting(row._replace(**new))))
        self._stored.update(changes)
        return len(changes)

    def delete(self, where: Condition | None = None, **equal: Any) -> int:
        """Remove the rows that are meant; says how many these are."""
        gone = [at for at, _ in self._where(where, equal)]
        self._stored.delete(gone)
        return len(gone)

    def _fitting(self, values: Any) -> Row:
        return tuple(self._held([fits(value) for fits, value in zip(self._fits, values)]))

    def _where(self, where: Condition | None, equal: Mapping[str, Any]) -> list[tuple[int, Any]]:
        for name in equal:
            if name not in self._names:
                raise Unfit(f'the table has no column "{name}"')
        entries = self._stored.rows.items()
        known = next((name for name, value in equal.items() if value is not None), None)
        if known is not None:
            column = self._names.index(known)
            entries = self._stored.find(column, self._one[column](equal[known]))  # type: ignore
        rows = [(at, self._row(*self._seen(row))) for at, row in entries]
        return [
            (at, row)
            for at, row in rows
            if all(getattr(row, name) == value for name, value in equal.items())
            and (where is None or where(row))
        ]


class InWindow:
    """The tuples of the window, the oldest first, each with the names of the arguments."""

    def __init__(self, window: Window, columns: Columns) -> None:
        self._window, self._row = window, row_type(columns)
        self._seen = rows_in([kind for _, kind in columns])

    def __len__(self) -> int:
        return len(self._window.rows)

    def __iter__(self) -> Iterator[Any]:
        row, seen = self._row, self._seen
        return iter([row(*seen(stored)) for stored in self._window.rows.values()])

    def delete(self, where: Condition | None = None) -> int:
        """Remove tuples before their time: `expire` is not called for them."""
        row, seen = self._row, self._seen
        gone = [
            at
            for at, stored in self._window.rows.items()
            if where is None or where(row(*seen(stored)))
        ]
        self._window.delete(gone)
        return len(gone)

    def oldest(self) -> Any:
        """The oldest tuple; None where there is none."""
        at = self._window.oldest()
        return None if at is None else self._row(*self._seen(self._window.rows[at]))


def row_type(columns: Columns) -> Any:
    """Tuples with the names of columns, where these can be names of attributes."""
    return namedtuple("Row", [name for name, _ in columns], rename=True)


def _held_value(kind: pa.DataType) -> Callable[[Any], Any]:
    made, fits = kind_of(kind), fitting(kind)
    assert made is not None
    held = made.held
    return lambda value: fits(value) if held is None or value is None else held(fits(value))
