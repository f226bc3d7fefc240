"""The log of a result: its batches as files, to be read again by anyone who comes later."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa

from millstream.engine.set_aside import set_log_aside
from millstream.engine.store import decode, encoded
from millstream.files import Folder, MissingFile, open_file, open_folder

SUFFIX = ".arrow"


class ResultLog:
    """Keeps the rows of results, one file for every batch that has any.

    A batch that runs again writes the same file again. `last` holds the number of the last finished
    batch, so that readers never see half of one.
    """

    def __init__(self, folder: str | Path | Folder) -> None:
        self.folder = open_folder(folder)
        self._number = -1

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        self._number = number
        if batch.num_rows:
            log_folder(self.folder, name).put(f"{number:012d}{SUFFIX}", [encoded(batch)])

    def forget(self, name: str) -> None:
        """Drop what was kept of a result that is no more."""
        log_folder(self.folder, name).remove_all()

    def set_aside(self, name: str, batch: int) -> None:
        """Keep what a result was up to a batch under another name, as it starts fresh."""
        logged = log_folder(self.folder, name)
        beside = partial(_beside, self.folder, name)
        set_log_aside(logged, beside, f"{batch:012d}{SUFFIX}")

    def whole(self, name: str, content: pa.RecordBatch) -> None: ...

    def sizes(self) -> dict[str, int]:
        if self._number >= 0:
            self.folder.put("last", [b"%012d" % self._number])  # of one size, as it is put again
        return {}

    def close(self) -> None: ...


def _beside(root: Folder, name: str, number: int) -> Folder:
    return log_folder(root, f"{name}.{number}")


def log_folder(root: Folder, name: str) -> Folder:
    safe = "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):x}" for c in name)
    return root.folder(safe)


def last_batch(root: str | Path | Folder) -> int:
    """The last finished batch; −1 before the first."""
    try:
        return int(open_folder(root).get("last").to_pybytes())
    except MissingFile:
        return -1


def batches_between(root: str | Path | Folder, name: str, after: int, upto: int) -> list[str]:
    """The addresses of the files of a result after one batch and up to another."""
    folder = log_folder(open_folder(root), name)
    files = [name for name in folder.list() if name.endswith(SUFFIX)]
    return [
        folder.address(file) for file in files if after < int(file.removesuffix(SUFFIX)) <= upto
    ]


def read_address(address: str) -> pa.RecordBatch:
    """The rows in a file of a log."""
    folder, name = open_file(address)
    return decode(folder.get(name))


def read_log(root: str | Path | Folder, name: str, schema: pa.Schema) -> pa.Table:
    """All rows of a result so far."""
    addresses = batches_between(root, name, -1, last_batch(root))
    return pa.Table.from_batches([read_address(at) for at in addresses], schema=schema)
