"""Tables while a job runs: where their changes are put, and those that are read again."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from millstream.bind.tables.declared import static_table
from millstream.bind.tables.histories import TableHistories, changed
from millstream.catalog import Stream, Table
from millstream.connect.opening import spool_of
from millstream.connect.postgres.poller import Poller
from millstream.connect.postgres.table import PostgresTable
from millstream.connect.statements.appended import FAULTS, append_batch, read_batches
from millstream.files import Folder
from millstream.operators import StaticTable


@dataclass
class LiveTables:
    """The tables of a run. Changes are in files of its folder before the job can see them.

    `contents` is, by their digests, what tables of databases began with when the folder was made: a
    run that goes on begins with the same, and takes what has changed since as changes.
    """

    folder: Folder
    follow: bool
    contents: dict[str, StaticTable] = field(default_factory=dict)
    pollers: dict[str, Poller] = field(default_factory=dict)

    def begin(self, histories: TableHistories) -> None:
        """From now on, changes go to the folder."""
        histories.folder = self.folder.url
        histories.is_fed = histories.is_fed or self.follow
        for entry in list(histories.catalog.entries.values()):
            if isinstance(entry, Table):
                self.recall(entry, histories)
                self.watch(entry, histories)

    def recall(self, table: Table, histories: TableHistories) -> None:
        """Take in what statements have fed to a table, in this run or an earlier one."""
        if table.every is None and (at := _fed_at(table, histories)) is not None:
            histories.recall(table, _batches(at[1]))

    def watch(self, table: Table, histories: TableHistories) -> None:
        """Read a table of a database again: now if the run goes on, and as often as declared."""
        if table.every is not None and (at := _fed_at(table, histories)) is not None:
            self._watch(table, *at)

    def unwatch(self, name: str) -> None:
        """Read a table of a database no more."""
        if (poller := self.pollers.pop(name, None)) is not None:
            poller.stop()

    def keep(self, names: Container[str]) -> None:
        """Read the tables no more that are not among these names, which are in lower case."""
        for name in [name for name in self.pollers if name.lower() not in names]:
            self.unwatch(name)

    def refresh(self, histories: TableHistories, beats: Mapping[str, int]) -> None:
        """Let queries that are added to the running job begin with what tables hold by now."""
        histories.refresh(beats)
        entries = histories.catalog.entries
        for name, poller in self.pollers.items():
            table = entries.get(name.lower())
            if isinstance(table, Table):
                content = static_table(name, poller.known)
                entries[name.lower()] = replace(table, content=content)

    def end(self) -> None:
        """Read no more."""
        for name in list(self.pollers):
            self.unwatch(name)

    def _watch(self, table: Table, stream: Stream, spool: Folder) -> None:
        base = self.folder.folder(f"{table.name}.base")
        goes_on = bool(base.list())
        if not goes_on:
            append_batch(base, table.content.rows)
        known = next(rows for _, rows in read_batches(base))
        self.contents[table.content.digest] = replace(table.content, rows=known)
        for rows in _batches(spool):
            known = _after(known, rows, table.key)
        assert table.source is not None and table.every is not None
        there = PostgresTable.of(table.source, dict(table.options), table.name)
        schema, seconds = known.schema, table.every / 1_000_000
        poller = Poller(lambda: there.read(schema), known, table.key, stream.schema, spool, seconds)
        if goes_on:
            poller.poll()
        if self.follow:
            self.unwatch(table.name)
            poller.start()
            self.pollers[table.name] = poller


def _fed_at(table: Table, histories: TableHistories) -> tuple[Stream, Folder] | None:
    """The stream of a table's modifications, and the folder that later ones are put into."""
    stream = None if table.changes is None else histories.placed(table.changes)
    spool = None if stream is None else spool_of(stream)
    return None if stream is None or spool is None else (stream, spool)


def _batches(spool: Folder) -> list[pa.RecordBatch]:
    return [rows for _, rows in read_batches(spool) if rows.schema != FAULTS]


def feed(stream: Stream, rows: pa.RecordBatch) -> None:
    """Put changes of a table where the running job finds them."""
    spool = spool_of(stream)
    assert spool is not None
    append_batch(spool, rows)


def _after(known: pa.RecordBatch, rows: pa.RecordBatch, key: tuple[str, ...]) -> pa.RecordBatch:
    """The rows of a table after changes, each of another key."""
    data = rows.select(list(range(1, rows.num_columns)))
    for op in ("delete", "update", "insert"):
        known = changed(known, op, data.filter(pc.equal(rows.column(0), op)), key)
    return known
