"""Tables in files: read whole as they stand at the beginning, or looked into for changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from millstream.connect.files.json_source import JsonSource
from millstream.connect.opening import open_source, stream_of
from millstream.connect.options import OF_STREAMS
from millstream.connect.registry import connector_of
from millstream.connect.source import ReadBatch, Source
from millstream.errors import MillstreamError

BATCH = 1_000_000
SAMPLE = 1_000
_CHANGES = pa.schema([("op", pa.string()), ("ts", pa.string())])
_WHOLE = re.compile(r"\s*[-+]?\d+(\.0*)?\s*")


@dataclass(frozen=True)
class TableFiles:
    """The files that tables come from, relative to a folder."""

    base: str

    def load(
        self, url: str, name: str, schema: pa.Schema, options: Mapping[str, str]
    ) -> pa.RecordBatch:
        """All rows of a bounded source. A bad row is an error: none must be missing unnoticed."""
        if (database := connector_of(url).database) is not None:
            rows, bad = database(stream_of(url, name, schema, options, self.base)).read(schema)
            if bad:
                raise MillstreamError(
                    f'a row of table "{name}" cannot be read: {bad[0][0]}',
                    detail=f"The row is {bad[0][1]}.",
                    hint="Declare the column with the type it has in the database.",
                )
            return rows
        source = open_source(url, name, schema, options, self.base, follow=False)
        read_batches = _read_batches(source, schema.names)
        for read_batch in read_batches:
            if read_batch.errors.num_rows:
                first = read_batch.errors.slice(0, 1).to_pylist()[0]
                raise MillstreamError(
                    f'row {first["seq"]} of table "{name}" cannot be read: {first["reason"]}',
                    hint="Mend the row in the file.",
                )
        table = pa.Table.from_batches(
            [read_batch.rows for read_batch in read_batches], schema=schema
        )
        arrays = [
            pa.concat_arrays(c.chunks) if c.num_chunks else pa.array([], c.type)
            for c in table.columns
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def can_be_read_again(self, url: str) -> bool:
        """Whether it is a database, which may have changed in the meantime."""
        try:
            return connector_of(url).database is not None
        except MillstreamError:  # raised by the one who reads it
            return False

    def time_of_changes(self, url: str, options: Mapping[str, str]) -> pa.DataType | None:
        """The type of `ts` in a source with changes, one that has columns `op` and `ts`.

        None for any other, also for one that cannot be read: who reads it gets the error.
        Without rows it is NULL.
        """
        if options.get("header", "true").lower() != "true":
            return None
        given = {name: value for name, value in options.items() if name not in OF_STREAMS.names}
        try:
            source = open_source(url, "changes", _CHANGES, given, self.base, follow=False)
            read_batches = _read_batches(source, _CHANGES.names, SAMPLE)
        except MillstreamError:
            return None
        values = [
            t
            for read_batch in read_batches
            for t in read_batch.rows.drop_null().column(1).to_pylist()
        ]
        if not values:
            return None if isinstance(source, JsonSource) else pa.null()
        timed = "timestamp" in given or not is_whole(values[0])
        return pa.timestamp("us") if timed else pa.int64()


def is_whole(text: str) -> bool:
    """Whether a time is a number, not a timestamp.

    >>> is_whole(" 17 "), is_whole("2024-05-01 10:00:00")
    (True, False)
    """
    return _WHOLE.fullmatch(text) is not None


def _read_batches(source: Source, names: Sequence[str], most: int | None = None) -> list[ReadBatch]:
    """What a source holds, to its end, or about as many rows as asked for."""
    position, ended, found, rows = source.start(), False, [], 0
    while not ended and (most is None or rows < most):
        slices, position, ended = source.plan(position, most or BATCH)
        found += [source.read(piece, names) for piece in slices]
        rows = sum(part.rows.num_rows + part.errors.num_rows for part in found)
    return found
