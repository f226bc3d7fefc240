"""Tables while a job runs: where their changes are put, and those that are read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from millstream.bind.tables.declared import static_table
from millstream.bind.tables.histories import TableHistories, changed
from millstream.catalog import Stream, Table
from millstream.connect.appended import FAULTS, append_batch, read_batches
from millstream.connect.opening import spool_of
from millstream.connect.poller import Poller
from millstream.connect.postgres import PostgresTable
from millstream.operators import StaticTable


@dataclass
class LiveTables:
    """The tables of a run. Changes are in files of its folder before the job can see them.

    `contents` is, by their digests, what tables of databases began with when the folder was made: a
    run that goes on begins with the same, and takes what has changed since as changes.
    """

    table_histories: TableHistories
    folder: Path
    follow: bool
    contents: dict[str, StaticTable] = field(default_factory=dict)
    pollers: dict[str, Poller] = field(default_factory=dict)

    def begin(self, tables: Iterable[Table]) -> None:
        """From now on, changes go to the folder."""
        self.table_histories.folder = str(self.folder)
        if self.follow:
            self.table_histories.feed = feed
        for table in tables:
            self.take(table)

    def take(self, table: Table) -> None:
        """Take in a table: what was fed to it in an earlier run, and what its database has now."""
        stream = None if table.changes is None else self.table_histories.placed(table.changes)
        path = None if stream is None else spool_of(stream)
        if stream is None or path is None:
            return
        before = [rows for _, rows in read_batches(path) if rows.schema != FAULTS]
        if table.every is not None:
            self._watch(table, stream, path, before)
        else:
            self.table_histories.recall(table, before)

    def refresh(self, beats: Mapping[str, int]) -> None:
        """Let queries that are added to the running job begin with what tables hold by now."""
        self.table_histories.refresh(beats)
        entries = self.table_histories.catalog.entries
        for name, poller in self.pollers.items():
            table = entries.get(name.lower())
            if isinstance(table, Table):
                content = static_table(name, poller.known)
                entries[name.lower()] = replace(table, content=content)

    def end(self) -> None:
        """Read no more."""
        for poller in self.pollers.values():
            poller.stop()
        self.pollers.clear()

    def _watch(
        self, table: Table, stream: Stream, path: Path, before: list[pa.RecordBatch]
    ) -> None:
        base = self.folder / f"{table.name}.base"
        goes_on = base.exists()
        if not goes_on:
            append_batch(base, table.content.rows)
        known = next(rows for _, rows in read_batches(base))
        self.contents[table.content.digest] = replace(table.content, rows=known)
        for rows in before:
            known = _after(known, rows, table.key)
        assert table.source is not None and table.every is not None
        there = PostgresTable.of(table.source, dict(table.options), table.name)
        schema, seconds = known.schema, table.every / 1_000_000
        poller = Poller(lambda: there.read(schema), known, table.key, stream.schema, path, seconds)
        if goes_on:
            poller.poll()
        if self.follow:
            poller.start()
            self.pollers[table.name] = poller


def feed(stream: Stream, rows: pa.RecordBatch) -> None:
    """Put changes of a table where the running job finds them."""
    path = spool_of(stream)
    assert path is not None
    append_batch(path, rows)


def _after(known: pa.RecordBatch, rows: pa.RecordBatch, key: tuple[str, ...]) -> pa.RecordBatch:
    """The rows of a table after changes, each of another key."""
    data = rows.select(list(range(1, rows.num_columns)))
    for op in ("delete", "update", "insert"):
        known = changed(known, op, data.filter(pc.equal(rows.column(0), op)), key)
    return known
