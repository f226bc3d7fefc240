"""Batches of rows appended to a file, which somebody else reads while it grows."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

HEAD = struct.Struct("<QI")
FAULTS = pa.schema([("reason", pa.string()), ("row", pa.string())])
"""What is appended in the place of rows that cannot be read."""


def append_batch(path: Path, batch: pa.RecordBatch) -> None:
    """Put a batch at the end, and have it on disk before going on.

    What a process that died left unfinished there is cut off.
    """
    blob = _encode(batch)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as file:
        file.truncate(max((end for end, _ in read_batches(path)), default=0))
        file.write(HEAD.pack(len(blob), zlib.crc32(blob)) + blob)
        file.flush()
        os.fsync(file.fileno())


def read_batches(path: Path, start: int = 0) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The whole batches from a position on, each with the position after it."""
    if not path.exists():
        return
    with open(path, "rb") as file:
        file.seek(start)
        while len(head := file.read(HEAD.size)) == HEAD.size:
            size, checksum = HEAD.unpack(head)
            blob = file.read(size)
            if len(blob) < size or zlib.crc32(blob) != checksum:
                return
            start += HEAD.size + size
            with pa.ipc.open_stream(pa.py_buffer(blob)) as reader:
                yield start, reader.read_next_batch()


def _encode(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()
