"""The chunk store: every batch's state of a bucket as one immutable file that names older ones.

A file holds the chunks and tables its batch wrote, then a footer that names, for every operator,
all parts of its state: those written now and those in older files. It appears under its final name
only when it is whole. Every piece carries a checksum.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.errors import MillstreamError
from millstream.files import Folder, MissingFile, open_folder
from millstream.files.folder import Piece
from millstream.state.chunks import Chunk, Log, State

MAGIC = b"MILLSTATE1\n"
TAIL = struct.Struct("<QI")
END = 65_536
"""So many bytes at the end of a file are read at once: they hold most footers."""

KEPT_BATCHES = 3
"""This batch, the one before, and one more: a run can go back if the last file is damaged."""

CUT_OFF = "it is missing or cut off"

Reference = tuple[str, int, int, int]
"""A file, a position in it, a size and a checksum."""

Own = tuple[str, pa.Buffer]
"""The file of a batch with its bytes."""


class DamagedState(MillstreamError):
    """A state file is not what was written."""


@dataclass(frozen=True)
class BucketStore:
    """The state files of one level and bucket."""

    folder: Folder

    @staticmethod
    def at(root: str | Path | Folder, level: int, bucket: int) -> BucketStore:
        return BucketStore(open_folder(root).folder(f"level{level}/bucket{bucket}"))

    @staticmethod
    def file(batch: int) -> str:
        return f"{batch:012d}.state"

    def read(self, batch: int) -> dict[str, State]:
        """Every operator's state after a batch; empty before the first.

        The batch's own file is fetched at once, chunks of older ones when they are asked for.
        """
        if batch < 0:
            return {}
        own = self._own(batch)
        footer = self._footer(*own)
        return {
            operator: {name: self._part(part, own) for name, part in parts.items()}
            for operator, parts in footer["operators"].items()
        }

    def footer(self, batch: int) -> dict[str, Any]:
        """What a state file holds; the error names the file when it is not whole."""
        name = self.file(batch)
        try:
            end = self.folder.get_range(name, -END, END)
            needed = TAIL.size + (TAIL.unpack(end[-TAIL.size :])[0] if end.size > TAIL.size else 0)
            if needed > end.size == END:
                end = self.folder.get_range(name, -needed, needed)
        except MissingFile as problem:
            raise self._damaged(name, CUT_OFF) from problem
        return self._footer(name, end)

    def check(self, batch: int) -> None:
        """Raise DamagedState unless the file of a batch, and all pieces it names, are whole."""
        own = self._own(batch)
        for parts in self._footer(*own)["operators"].values():
            for part in parts.values():
                for at in _places(part):
                    self._load(at, own)

    def write(self, batch: int, states: Mapping[str, State], before: int = -1) -> int:
        """Put the states after a batch on the bucket store; gives the number of bytes written.

        `before` is the batch whose states these come from.
        """
        final = self.file(batch)
        pieces: list[Piece] = [MAGIC]
        position = len(MAGIC)

        def put(rows: pa.RecordBatch) -> Reference:
            nonlocal position
            blob = encoded(rows)
            reference = (final, position, blob.size, zlib.crc32(blob))
            pieces.append(blob)
            position += blob.size
            return reference

        operators = {
            name: {part: _describe(value, put) for part, value in state.items()}
            for name, state in states.items()
            if state
        }
        used = sorted({final, *_files(operators)})
        history = [used, *self._history(before)][:KEPT_BATCHES]
        footer = json.dumps({"batch": batch, "operators": operators, "files": history}).encode()
        pieces += [footer, TAIL.pack(len(footer), zlib.crc32(footer))]
        self.folder.put(final, pieces)
        self._sweep({name for names in history for name in names}, final)
        return position + len(footer)

    def _own(self, batch: int) -> Own:
        name = self.file(batch)
        try:
            return name, self.folder.get(name)
        except MissingFile as problem:
            raise self._damaged(name, CUT_OFF) from problem

    def _part(self, part: dict[str, Any], own: Own) -> pa.RecordBatch | Log:
        if part["kind"] == "table":
            return self._load(tuple(part["at"]), own)
        return Log(
            tuple(
                Chunk(rows, first, last, self._loader(tuple(at), own), tuple(at))
                for rows, first, last, at in part["chunks"]
            )
        )

    def _loader(self, at: Reference, own: Own) -> Callable[[], Changes]:
        """Reads a chunk when it is asked for."""
        return lambda: Changes.from_batch(self._load(at, own))

    def _load(self, at: Reference, own: Own) -> pa.RecordBatch:
        name, start, size, checksum = at
        try:
            if own[0] == name:
                blob = own[1][start : start + size]
            else:
                blob = self.folder.get_range(name, start, size)
        except MissingFile as problem:
            raise self._damaged(name, problem.message) from problem
        if blob.size != size or zlib.crc32(blob) != checksum:
            raise self._damaged(name, "a chunk does not match its checksum")
        return decode(blob)

    def _footer(self, name: str, end: pa.Buffer) -> dict[str, Any]:
        """The footer in the last bytes of a file."""
        try:
            size, checksum = TAIL.unpack(end[-TAIL.size :])
        except struct.error as problem:
            raise self._damaged(name, CUT_OFF) from problem
        if not 0 < size <= end.size - TAIL.size:
            raise self._damaged(name, CUT_OFF)
        footer = end[end.size - TAIL.size - size : end.size - TAIL.size]
        if zlib.crc32(footer) != checksum:
            raise self._damaged(name, "its footer does not match its checksum")
        return json.loads(footer.to_pybytes())

    def _history(self, batch: int) -> list[list[str]]:
        if batch < 0 or not self.folder.has(self.file(batch)):
            return []
        return self.footer(batch)["files"]

    def _sweep(self, used: set[str], newest: str) -> None:
        """Remove files that no retained batch names. Later files are leftovers of a batch that
        did not finish, and will be written again."""
        for name in self.folder.list():
            if name not in used and name < newest:
                self.folder.remove(name)

    def _damaged(self, name: str, why: str) -> DamagedState:
        return DamagedState(f'state file "{name}" in "{self.folder.shown}" is damaged: {why}')


def encode(rows: pa.RecordBatch) -> bytes:
    return encoded(rows).to_pybytes()


def encoded(rows: pa.RecordBatch) -> pa.Buffer:
    """Rows as bytes, which are counted first: a buffer that grows is copied again and again."""
    counted = pa.MockOutputStream()
    encode_to(counted, rows)
    blob = pa.allocate_buffer(counted.size())
    encode_to(pa.FixedSizeBufferWriter(blob), rows)
    return blob


def decode(blob: pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(blob) as reader:
        return reader.read_next_batch()


def encode_to(stream: pa.NativeFile, rows: pa.RecordBatch) -> None:
    """Write rows to a stream, without a copy of them in between."""
    with pa.ipc.new_stream(stream, rows.schema) as writer:
        writer.write_batch(rows)


def _describe(value: Any, put: Any) -> dict[str, Any]:
    if isinstance(value, Log):
        return {
            "kind": "log",
            "chunks": [
                [c.rows, c.first_due, c.last_due, c.reference or put(c.changes.to_batch())]
                for c in value.chunks
            ],
        }
    return {"kind": "table", "at": put(value)}


def _files(operators: dict[str, Any]) -> set[str]:
    return {
        at[0] for parts in operators.values() for part in parts.values() for at in _places(part)
    }


def _places(part: dict[str, Any]) -> list[Reference]:
    """Where the pieces of a part lie."""
    return [part["at"]] if part["kind"] == "table" else [chunk[3] for chunk in part["chunks"]]
