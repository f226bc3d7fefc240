"""Batches of rows put into a folder one after the other, which somebody else reads meanwhile."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from millstream.errors import MillstreamError
from millstream.files import Folder, MissingFile, open_folder

HEAD = struct.Struct("<I")
FAULTS = pa.schema([("reason", pa.string()), ("row", pa.string())])
"""What is appended in the place of rows that cannot be read."""


def append_batch(folder: str | Path | Folder, batch: pa.RecordBatch) -> None:
    """Put a batch after the last, and have it on disk before going on. One process appends."""
    spool, blob = open_folder(folder).synced(), _encode(batch)
    number = max((int(name) for name in spool.list()), default=-1) + 1
    spool.put(_file(number), [HEAD.pack(zlib.crc32(blob)), blob])


def read_batches(
    folder: str | Path | Folder, start: int = 0
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The batches from a number on, each with the number after it."""
    spool = open_folder(folder)
    while True:
        try:
            data = spool.get(_file(start))
        except MissingFile:
            return
        blob = data[HEAD.size :]
        if data.size < HEAD.size or HEAD.unpack(data[: HEAD.size]) != (zlib.crc32(blob),):
            raise MillstreamError(
                f'"{spool.shown}/{_file(start)}" is damaged',
                hint="Put a copy of the folder in its place, or start anew with another "
                "--checkpoint.",
            )
        start += 1
        with pa.ipc.open_stream(blob) as reader:
            yield start, reader.read_next_batch()


def _file(number: int) -> str:
    return f"{number:012d}"


def _encode(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()
