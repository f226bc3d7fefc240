"""A spool: rows on their way to a file that can only be written whole."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from millstream.engine.store import decode, encode
from millstream.files import writing

LENGTH = struct.Struct("<Q")


class Spool:
    """Batches one after the other in a file that can be cut back to any size it had."""

    def __init__(self, path: Path, size: int | None) -> None:
        self.path = path
        with writing(path):
            if size is None:
                path.write_bytes(b"")
            self._file = open(path, "r+b")  # noqa: SIM115
            self._file.truncate(size or 0)
            self._file.seek(0, 2)

    def append(self, batch: pa.RecordBatch) -> None:
        blob = encode(batch)
        with writing(self.path):
            self._file.write(LENGTH.pack(len(blob)))
            self._file.write(blob)

    @property
    def size(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        with writing(self.path):
            self._file.flush()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All that was appended, in order."""
        self._file.flush()
        with open(self.path, "rb") as file:
            while head := file.read(LENGTH.size):
                yield decode(pa.py_buffer(file.read(LENGTH.unpack(head)[0])))

    def close(self) -> None:
        self._file.close()
