"""The chunk store: every batch's state of a bucket as one immutable file that names older ones.

A file holds the chunks and tables its batch wrote, then a footer that names, for every operator,
all parts of its state: those written now and those in older files. It appears under its final name
only when it is whole. Every piece carries a checksum.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.errors import MillstreamError
from millstream.state.chunks import Chunk, Log, State

MAGIC = b"MILLSTATE1\n"
TAIL = struct.Struct("<QI")
KEPT_BATCHES = 3
"""This batch, the one before, and one more, so that a damaged last file can be gone back on."""

Reference = tuple[str, int, int, int]


class DamagedState(MillstreamError):
    """A state file is not what was written."""


@dataclass(frozen=True)
class BucketStore:
    """The state files of one level and bucket."""

    folder: Path

    @staticmethod
    def at(root: str | Path, level: int, bucket: int) -> BucketStore:
        return BucketStore(Path(root) / f"level{level}" / f"bucket{bucket}")

    def path(self, batch: int) -> Path:
        return self.folder / f"{batch:012d}.state"

    def read(self, batch: int) -> dict[str, State]:
        """Every operator's state after a batch; empty before the first."""
        if batch < 0:
            return {}
        footer = read_footer(self.path(batch))
        return {
            operator: {name: self._part(part) for name, part in parts.items()}
            for operator, parts in footer["operators"].items()
        }

    def write(self, batch: int, states: Mapping[str, State], before: int = -1) -> int:
        """Put the states after a batch on the bucket store; gives the number of bytes written.

        `before` is the batch whose states these come from.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        final = self.path(batch)
        pieces = [MAGIC]
        position = len(MAGIC)

        def put(rows: pa.RecordBatch) -> Reference:
            nonlocal position
            blob = encode(rows)
            reference = (final.name, position, len(blob), zlib.crc32(blob))
            pieces.append(blob)
            position += len(blob)
            return reference

        operators = {
            name: {part: _describe(value, put) for part, value in state.items()}
            for name, state in states.items()
            if state
        }
        used = sorted({final.name, *_files(operators)})
        history = [used, *self._history(before)][:KEPT_BATCHES]
        footer = json.dumps({"batch": batch, "operators": operators, "files": history}).encode()
        pieces += [footer, TAIL.pack(len(footer), zlib.crc32(footer))]
        write_whole(final, pieces)
        self._sweep({name for names in history for name in names}, final.name)
        return position + len(footer)

    def _part(self, part: dict[str, Any]) -> pa.RecordBatch | Log:
        if part["kind"] == "table":
            return self._load(tuple(part["at"]))
        return Log(
            tuple(
                Chunk(rows, first, last, self._loader(tuple(at)), tuple(at))
                for rows, first, last, at in part["chunks"]
            )
        )

    def _loader(self, at: Reference) -> Callable[[], Changes]:
        """Reads a chunk when it is asked for."""
        return lambda: Changes.from_batch(self._load(at))

    def _load(self, at: Reference) -> pa.RecordBatch:
        name, start, size, checksum = at
        path = self.folder / name
        try:
            with pa.memory_map(str(path)) as file:
                file.seek(start)
                blob = file.read_buffer(size)
        except (OSError, pa.ArrowException) as problem:
            raise _damaged(path, str(problem)) from problem
        if blob.size != size or zlib.crc32(blob) != checksum:
            raise _damaged(path, "a chunk does not match its checksum")
        return decode(blob)

    def _history(self, batch: int) -> list[list[str]]:
        if batch < 0 or not self.path(batch).exists():
            return []
        return read_footer(self.path(batch))["files"]

    def _sweep(self, used: set[str], newest: str) -> None:
        """Remove files that no retained batch names. Later files are leftovers of a batch that
        did not finish, and will be written again."""
        for path in self.folder.iterdir():
            if path.name not in used and path.name < newest:
                path.unlink(missing_ok=True)


def read_footer(path: Path) -> dict[str, Any]:
    """What a state file holds; the error names the file when it is not whole."""
    try:
        with open(path, "rb") as file:
            file.seek(-TAIL.size, os.SEEK_END)
            size, checksum = TAIL.unpack(file.read(TAIL.size))
            file.seek(-TAIL.size - size, os.SEEK_END)
            footer = file.read(size)
    except (OSError, struct.error, OverflowError, ValueError) as problem:
        raise _damaged(path, "it is missing or cut off") from problem
    if not footer or zlib.crc32(footer) != checksum:
        raise _damaged(path, "its footer does not match its checksum")
    return json.loads(footer)


def check_file(path: Path) -> None:
    """Raise DamagedState unless the footer and every piece it names in its folder are whole."""
    footer = read_footer(path)
    bucket_store = BucketStore(path.parent)
    for parts in footer["operators"].values():
        for part in parts.values():
            places = [part["at"]] if part["kind"] == "table" else [c[3] for c in part["chunks"]]
            for at in places:
                bucket_store._load(tuple(at))


def encode(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return sink.getvalue().to_pybytes()


def decode(blob: pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(blob) as reader:
        return reader.read_next_batch()


def encode_to(path: Path, rows: pa.RecordBatch) -> None:
    """Write rows to a file of their own, which nobody looks for before it is finished."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)


def decode_from(path: Path) -> pa.RecordBatch:
    """Rows of a file, as they lie there, without reading them first."""
    with pa.memory_map(str(path)) as file:
        return decode(file.read_buffer())


def write_whole(path: Path, pieces: list[bytes]) -> None:
    """Write a file so that it is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(temporary, "wb") as file:
        file.writelines(pieces)
    os.replace(temporary, path)


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
    found: set[str] = set()
    for parts in operators.values():
        for part in parts.values():
            places = [part["at"]] if part["kind"] == "table" else [c[3] for c in part["chunks"]]
            found.update(at[0] for at in places)
    return found


def _damaged(path: Path, why: str) -> DamagedState:
    return DamagedState(f'state file "{path.name}" in "{path.parent}" is damaged: {why}')
