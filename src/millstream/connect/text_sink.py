"""Results as CSV or JSON lines, in a file that can be taken up again at any size it had."""

from __future__ import annotations

import json
import os
from types import TracebackType

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connect.cells import as_csv, as_json
from millstream.errors import MillstreamError
from millstream.files import writing

CHUNK_ROWS = 1 << 16


def encode(batch: pa.RecordBatch, format: str) -> bytes:
    """The rows of a batch as lines of CSV (without header) or JSON.

    >>> encode(pa.record_batch({"item": [1, None], "price": [2.0, 1.5]}), "csv")
    b'1,2.0\\n,1.5\\n'
    >>> encode(pa.record_batch({"item": [1, None]}), "csv")
    b'1\\n""\\n'
    >>> encode(pa.record_batch({"item": [1, None]}), "jsonl")
    b'{"item":1}\\n{"item":null}\\n'
    """
    line = _csv_line if format == "csv" else _json_line
    starts = range(0, batch.num_rows, CHUNK_ROWS)
    return b"".join(_bytes(line(batch.slice(start, CHUNK_ROWS))) for start in starts)


def header(schema: pa.Schema, format: str) -> bytes:
    """What a file begins with: the names of the columns in CSV, nothing in JSON lines."""
    if format != "csv":
        return b""
    return ",".join(as_csv(pa.array(schema.names, pa.string())).to_pylist()).encode() + b"\n"


class TextSink:
    """A CSV or JSON lines file that grows.

    `size` None begins the file anew; a number cuts it to that many bytes and goes on from there.
    """

    def __init__(self, path: str, schema: pa.Schema, format: str, size: int | None = None) -> None:
        self.path, self.schema, self.format = path, schema, format
        with writing(path):
            if size is None:
                os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
                self._file = open(path, "wb")  # noqa: SIM115
                self._size = self._file.write(header(schema, format))
            else:
                self._file = _cut(path, size)
                self._size = size
        self._on_disk = -1

    @property
    def size(self) -> int:
        return self._size

    def append(self, batch: pa.RecordBatch) -> None:
        lines = encode(batch, self.format)
        with writing(self.path):
            self._size += self._file.write(lines)

    def flush(self) -> None:
        """All that was appended is on the disk afterwards."""
        if self._on_disk == self._size:
            return
        with writing(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
        self._on_disk = self._size

    def close(self) -> None:
        if not self._file.closed:
            self.flush()
            self._file.close()

    def __enter__(self) -> TextSink:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _cut(path: str, size: int):
    there = os.path.getsize(path) if os.path.exists(path) else None
    if there is None or there < size:
        found = "does not exist" if there is None else f"has {there:,} bytes"
        raise MillstreamError(
            f'result file "{path}" cannot be continued',
            detail=f"It {found}, and {size:,} bytes of it were written before.",
            hint="Put the file back, or start again with a new checkpoint folder.",
        )
    file = open(path, "r+b")  # noqa: SIM115
    file.truncate(size)
    file.seek(size)
    return file


def _csv_line(batch: pa.RecordBatch) -> pa.Array:
    """Lines of CSV. A line must not be empty: readers skip it, and with it the row.

    So the NULL of a single column is `""`, where readers then find one cell with nothing in it.
    """
    cells = [as_csv(column) for column in batch.columns]
    if len(cells) == 1:
        cells = [pc.if_else(pc.equal(cells[0], ""), '""', cells[0])]
    pieces: list[object] = [piece for cell in cells for piece in (cell, ",")]
    return pc.binary_join_element_wise(*pieces[:-1], "\n", "")


def _json_line(batch: pa.RecordBatch) -> pa.Array:
    pieces: list[object] = []
    for i, (name, column) in enumerate(zip(batch.schema.names, batch.columns)):
        key = json.dumps(name, ensure_ascii=False)
        pieces += [("{" if i == 0 else ",") + key + ":", as_json(column)]
    return pc.binary_join_element_wise(*pieces, "}\n", "")


def _bytes(lines: pa.Array) -> bytes:
    """The bytes of all lines, which Arrow holds one after the other."""
    lines = lines.cast(pa.large_binary())
    offsets = lines.buffers()[1]
    first, last = (memoryview(offsets).cast("q")[lines.offset + i] for i in (0, len(lines)))
    return memoryview(lines.buffers()[2])[first:last].tobytes() if last > first else b""
