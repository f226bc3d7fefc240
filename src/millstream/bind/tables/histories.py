"""Histories of tables: their first rows, and the changes that statements make, by time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import concat_rows, take_rows
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, STRING
from millstream.bind.tables.declared import modifications, static_table
from millstream.bind.tables.modifications import BoundChange, bind_modification
from millstream.catalog import STATEMENTS, Catalog, Stream, Table, kind_of
from millstream.columns.keys import factorize
from millstream.connect.table import TableFiles
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import BlockLoad, Load, Modification, place_of

Change = tuple[int, str, pa.RecordBatch]
"""The instant of a change, its operation, and its rows."""


def loaded_rows(
    statement: Load | BlockLoad, table: str, schema: pa.Schema, files: TableFiles | None
) -> pa.RecordBatch:
    """The rows of the file that a statement loads into a table."""
    try:
        return (files or TableFiles(".")).load(statement.source, table, schema, {})
    except MillstreamError as error:
        raise error.at(statement.source_place) from None


@dataclass
class TableHistories:
    """The tables of a catalog that statements change.

    While a job follows its sources (`is_fed`), later changes are not taken into what tables begin
    with, but wait in `outbox`, each with the stream it is for; their place is in `folder`.
    """

    catalog: Catalog
    books: dict[str, TableHistory] = field(default_factory=dict)
    is_fed: bool = False
    folder: str = ""
    outbox: list[tuple[Stream, pa.RecordBatch]] = field(default_factory=list)
    _own: set[str] = field(default_factory=set)
    """The tables whose books are not shared with those of another catalog."""

    def copy(self, catalog: Catalog) -> TableHistories:
        """The histories for a copy of the catalog; a book is copied when it is written to."""
        self._own.clear()
        return TableHistories(catalog, dict(self.books), self.is_fed, self.folder)

    def open(self, table: Table) -> None:
        """Begin with a table as it was declared."""
        self.books[table.name] = TableHistory(table, table.content.rows)
        self._own.add(table.name)

    def modify(
        self,
        statement: Modification,
        text: str,
        notices: list[Notice],
        files: TableFiles | None = None,
    ) -> None:
        """Carry out a statement on the first rows of the table, or as a change at its time.

        `notices` takes what its author should know; `files` has those that are loaded.
        """
        table = self._table(statement)
        loaded = None
        if isinstance(statement, Load):
            loaded = loaded_rows(statement, table.name, pa.schema(list(table.columns)), files)
        bound_change, kind = bind_modification(statement, table, text, notices, loaded)
        if kind is not None:
            assert statement.at is not None
            table = self._changing(table, kind, place_of(statement.at, text))
        if self.is_fed and table.changes is not None:
            self._put(table)
            self._feed(table, bound_change)
            return
        if bound_change.at is None:
            self._check_unread(table, "Write it before the query, or give it a time with AT.")
        book = self._book(table)
        known = book.write(bound_change)
        if bound_change.at is None:
            table = replace(table, content=static_table(table.name, book.content))
        if (stream := table.changes) is not None:
            known = known if stream.rows is not None else 0
            rows = stream_rows(stream, book.emitted[known:])
            if known and stream.rows is not None:
                rows = concat_rows([stream.rows, rows], stream.schema)
            table = replace(table, changes=replace(stream, rows=rows))
        self._put(table)

    def placed(self, stream: Stream) -> Stream:
        """The stream of a table's modifications with the folder of later ones."""
        return replace(stream, base=self.folder) if stream.source == STATEMENTS else stream

    def recall(self, table: Table, batches: list[pa.RecordBatch]) -> None:
        """Take in the changes that were fed before, in this run or an earlier one."""
        stream, book = table.changes, self._book(table)
        assert stream is not None
        book.fed = []
        for rows in batches:
            width = rows.num_columns - len(book.loaded.schema)
            data = rows.select(list(range(width, rows.num_columns)))
            times = [0] * rows.num_rows
            if not stream.is_internal:
                times = rows.column(1).cast(INTEGER).to_pylist()
            for i, (op, at) in enumerate(zip(rows.column(0).to_pylist(), times)):
                book.fed.append((at, op, data.slice(i, 1)))

    def refresh(self, beats: Mapping[str, int]) -> None:
        """Let queries that are added to a running job begin with the rows that tables hold."""
        for table in list(self.catalog.entries.values()):
            if isinstance(table, Table) and table.name in beats and self._is_ours(table):
                rows = self._book(table).as_of(beats[table.name])
                content = static_table(table.name, rows)
                as_of = replace(content, as_of=beats[table.name])
                self._put(replace(table, content=as_of))

    def as_of(self, table: Table, at: int) -> pa.RecordBatch:
        """The rows of a table at an instant, as far as is known."""
        return self.books[table.name].as_of(at)

    def has_book(self, table: Table) -> bool:
        """Whether all changes of a table are known here: those that statements make."""
        return self._is_ours(table) and table.name in self.books

    def _is_ours(self, table: Table) -> bool:
        """Whether the table is changed by statements."""
        stream = table.changes
        return table.every is None and stream is not None and stream.source == STATEMENTS

    def _table(self, statement: Modification) -> Table:
        table = self.catalog.entries.get(statement.name.lower())
        if table is None:
            raise self.catalog.missing("table", statement.name)
        if not isinstance(table, Table):
            raise MillstreamError(
                f'{kind_of(table)} "{table.name}" cannot be changed by statements',
                hint="INSERT, UPDATE and DELETE are for tables.",
            )
        if table.changes is not None and not self._is_ours(table):
            raise MillstreamError(
                f'table "{table.name}" is changed by its SOURCE, not by statements',
                hint="Put the change into the source.",
            )
        return table

    def _changing(self, table: Table, kind: pa.DataType, place: Place | None) -> Table:
        """The table with a stream of changes whose times are of that type."""
        if table.changes is None:
            self._check_unread(table, "Write the statement before the query.")
            return replace(table, changes=modifications(table, kind))
        stream = table.changes
        if stream.is_internal:
            raise MillstreamError(
                f'table "{table.name}" takes no AT: its changes are stamped when they arrive',
                place,
                hint="Leave AT out, or declare the table WITH (time = 'timestamp').",
            )
        if stream.schema.field(stream.order_by).type != kind:
            given = "an integer" if kind == INTEGER else "a timestamp"
            raise MillstreamError(
                f'AT is {given} here, and the changes of table "{table.name}" have '
                f"{'integers' if stream.domain is Domain.INTEGER else 'timestamps'}",
                place,
                hint="Give all changes of a table the same kind of time.",
            )
        return table

    def _check_unread(self, table: Table, hint: str) -> None:
        if readers := self.catalog.readers_of(table.name):
            named = ", ".join(map(str, readers))
            raise MillstreamError(
                f'table "{table.name}" is read by {named} as a table that never changes',
                hint=hint,
            )

    def _feed(self, table: Table, bound_change: BoundChange) -> None:
        assert table.changes is not None
        if bound_change.at is None and not table.changes.is_internal:
            raise MillstreamError(
                f'a change of table "{table.name}" needs a time while the job runs',
                hint="Write AT and the time, or declare the table WITH (time = 'current_time').",
            )
        done = self._book(table).feed(bound_change, time.time_ns() // 1000)
        if done:
            stream = self.placed(table.changes)
            self.outbox.append((stream, stream_rows(stream, done)))

    def _book(self, table: Table) -> TableHistory:
        if table.name not in self.books:
            self.open(table)
        elif table.name not in self._own:
            self.books[table.name] = self.books[table.name].copy()
            self._own.add(table.name)
        return self.books[table.name]

    def _put(self, table: Table) -> None:
        self.catalog.entries[table.name.lower()] = table


@dataclass
class TableHistory:
    """The history of a table: its first rows, and the changes that statements make, by time.

    Statements are carried out in the order of their time, those of one time as they were written,
    each on what those before it left. `fed` are changes that went to a job while it ran.
    """

    table: Table
    loaded: pa.RecordBatch
    bound_changes: list[BoundChange] = field(default_factory=list)
    emitted: list[Change] = field(default_factory=list)
    fed: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.content = self.present = self.loaded

    def copy(self) -> TableHistory:
        """A history that can be gone on with without changing this one."""
        other = TableHistory(
            self.table, self.loaded, list(self.bound_changes), list(self.emitted), list(self.fed)
        )
        other.content, other.present = self.content, self.present
        return other

    def write(self, bound_change: BoundChange) -> int:
        """Take a statement in, before the job runs; gives how many earlier changes still stand."""
        late = any(_when(bound_change) < _when(other) for other in self.bound_changes[-1:])
        known = len(self.emitted)
        self.bound_changes.append(bound_change)
        if not late:
            self._carry_out(bound_change)
            return known
        self.bound_changes.sort(key=_when)
        self.content = self.present = self.loaded
        self.emitted = []
        for one in self.bound_changes:
            self._carry_out(one)
        return 0

    def feed(self, bound_change: BoundChange, now: int) -> list[Change]:
        """Take in a statement while the job runs; gives its changes."""
        at = now if bound_change.at is None else bound_change.at
        ops = bound_change.ops(self.as_of(at), self.table.key)
        done = [(at, op, rows) for op, rows in ops if rows.num_rows]
        self.fed += done
        return done

    def as_of(self, at: int) -> pa.RecordBatch:
        """The rows of the table at an instant, as far as is known."""
        present = self.content
        for when, op, rows in sorted((*self.emitted, *self.fed), key=lambda change: change[0]):
            if when <= at:
                present = changed(present, op, rows, self.table.key)
        return present

    def _carry_out(self, bound_change: BoundChange) -> None:
        for op, rows in bound_change.ops(self.present, self.table.key):
            self.present = changed(self.present, op, rows, self.table.key)
            if bound_change.at is None:
                self.content = self.present
            elif rows.num_rows:
                self.emitted.append((bound_change.at, op, rows))


def stream_rows(stream: Stream, changes: list[Change]) -> pa.RecordBatch:
    """Changes as rows of a table's stream: op, time, columns."""
    arrays: list[list[pa.Array]] = [[pa.array([], f.type)] for f in stream.schema]
    for at, op, rows in changes:
        count = rows.num_rows
        stamps = [] if stream.is_internal else [pa.repeat(pa.scalar(at, INTEGER), count)]
        columns = [pa.repeat(pa.scalar(op, STRING), count), *stamps, *rows.columns]
        for part, column, kind in zip(arrays, columns, stream.schema.types):
            part.append(column.cast(kind) if column.type != kind else column)
    return pa.RecordBatch.from_arrays(
        [pa.concat_arrays(part) for part in arrays], schema=stream.schema
    )


def _when(bound_change: BoundChange) -> float:
    return float("-inf") if bound_change.at is None else bound_change.at


def changed(
    present: pa.RecordBatch, op: str, rows: pa.RecordBatch, key: tuple[str, ...]
) -> pa.RecordBatch:
    """The rows of a table after a change."""
    both = concat_rows([present, rows], present.schema)
    known, size = present.num_rows, both.num_rows
    if key:
        codes, first = factorize([both.column(name) for name in key], size)
        last = np.empty(len(first), np.int64)
        last[codes] = np.arange(size)
        kept = np.sort(last)
        return take_rows(both, kept[kept < known] if op == "delete" else kept)
    if op != "delete":
        return both
    codes, _ = factorize(both.columns, size)
    order = np.argsort(codes[:known], kind="stable")
    ranks = np.empty(known, np.int64)
    ranks[order] = np.arange(known) - np.searchsorted(codes[:known][order], codes[:known][order])
    gone = np.bincount(codes[known:], minlength=int(codes.max(initial=0)) + 1)
    return take_rows(present, np.flatnonzero(ranks >= gone[codes[:known]]))
