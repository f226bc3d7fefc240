"""The log of a result: its batches as files, to be read again by anyone who comes later."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa

from millstream.engine.store import decode, encode, write_whole


class ResultLog:
    """Keeps the rows of results, one file for every batch that has any.

    A batch that runs again writes the same file again. `last` holds the number of the last finished
    batch, so that readers never see half of one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = -1

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        self._number = number
        if batch.num_rows:
            folder = log_folder(self.folder, name)
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / f"{number:012d}.arrow", [encode(batch)])

    def forget(self, name: str) -> None:
        """Drop what was kept of a result that is no more."""
        shutil.rmtree(log_folder(self.folder, name), ignore_errors=True)

    def whole(self, name: str, content: pa.RecordBatch) -> None: ...

    def sizes(self) -> dict[str, int]:
        if self._number >= 0:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / "last", [str(self._number).encode()])
        return {}

    def close(self) -> None: ...


def log_folder(root: Path, name: str) -> Path:
    safe = "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):x}" for c in name)
    return root / safe


def last_batch(root: Path) -> int:
    path = root / "last"
    return int(path.read_text()) if path.exists() else -1


def batches_between(root: Path, name: str, after: int, upto: int) -> list[Path]:
    """The files of a result after one batch and up to another."""
    return [
        path
        for path in sorted(log_folder(root, name).glob("*.arrow"))
        if after < int(path.stem) <= upto
    ]


def read_log(root: Path, name: str, schema: pa.Schema) -> pa.Table:
    """All rows of a result so far."""
    paths = batches_between(root, name, -1, last_batch(root))
    return pa.Table.from_batches(
        [decode(pa.py_buffer(p.read_bytes())) for p in paths], schema=schema
    )
