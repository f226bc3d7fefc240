"""Tables of a database, read again and again: what has changed is put into a folder for the job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import concat_rows, take_rows
from millstream.columns.keys import factorize
from millstream.connect.source import ROW_TEXT
from millstream.connect.statements.appended import FAULTS, append_batch
from millstream.errors import MillstreamError
from millstream.files import Folder

Read = Callable[[], tuple[pa.RecordBatch, list[tuple[str, str]]]]


@dataclass
class Poller:
    """Reads a table every so many seconds, and appends what is new, changed or gone by its key.

    `known` is what the job knows of the table, `schema` that of its changes, the op first. A change
    is on disk before the job can see it, so that a batch that runs again finds the same.
    """

    read: Read
    known: pa.RecordBatch
    key: tuple[str, ...]
    schema: pa.Schema
    spool: Folder
    seconds: float
    _reported: frozenset[tuple[str, str]] = frozenset()
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def poll(self) -> None:
        """Read the table once. A failure gives a bad row, and the next poll tries again."""
        try:
            rows, bad = self.read()
            changes = list(differences(self.known, rows, self.key))
        except MillstreamError as error:
            detail = f": {error.detail}" if error.detail else ""
            rows, changes, bad = self.known, [], [(f"{error.message}{detail}", "")]
        if news := [fault for fault in bad if fault not in self._reported]:
            append_batch(self.spool, _faults(news))
        if changes:
            ops = [pa.repeat(pa.scalar(op), part.num_rows) for op, part in changes]
            parts = concat_rows([part for _, part in changes], rows.schema)
            arrays = [pa.concat_arrays(ops), *parts.columns]
            append_batch(self.spool, pa.RecordBatch.from_arrays(arrays, schema=self.schema))
        self.known, self._reported = rows, frozenset(bad)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._go_on, name="millstream-poller", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _go_on(self) -> None:
        while not self._stop.wait(self.seconds):
            self.poll()


def differences(
    before: pa.RecordBatch, after: pa.RecordBatch, key: tuple[str, ...]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """What leads from one content of a table to another, by its key: ops with their rows."""
    both = concat_rows([before, after], before.schema)
    known, size = before.num_rows, both.num_rows
    codes, first = factorize([both.column(name) for name in key], size)
    values, _ = factorize(both.columns, size)
    place = np.full(len(first), -1)
    place[codes[known:]] = np.arange(known, size)
    if np.count_nonzero(place >= 0) < size - known:
        raise MillstreamError(f"two rows have one key: {', '.join(key)}")
    there = np.full(len(first), -1)
    there[codes[:known]] = np.arange(known)
    same = (there >= 0) & (place >= 0) & (values[there] == values[place])
    for op, index in (
        ("delete", there[(place < 0) & (there >= 0)]),
        ("update", place[(there >= 0) & (place >= 0) & ~same]),
        ("insert", place[(there < 0) & (place >= 0)]),
    ):
        if len(index):
            yield op, take_rows(both, np.sort(index))


def _faults(bad: list[tuple[str, str]]) -> pa.RecordBatch:
    reasons, rows = [reason for reason, _ in bad], [row[:ROW_TEXT] for _, row in bad]
    arrays = [pa.array(reasons, pa.string()), pa.array(rows, pa.string())]
    return pa.RecordBatch.from_arrays(arrays, schema=FAULTS)
