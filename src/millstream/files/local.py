"""Folders of this machine: files are mapped into memory, and renamed when they are whole."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from millstream.files.folder import UNFINISHED, Fill, Piece, cannot

EMPTY = pa.py_buffer(b"")


@dataclass(frozen=True)
class LocalFolder:
    """A folder of the local file system, or of one that is mounted into it.

    Reading maps a file: bytes that nobody looks at are not read. Writing goes to a name of its own,
    which is renamed at the end.
    """

    path: Path
    syncs: bool = False

    @property
    def url(self) -> str:
        return str(self.path)

    @property
    def shown(self) -> str:
        return str(self.path)

    def folder(self, name: str) -> LocalFolder:
        return replace(self, path=self.path / name)

    def address(self, name: str) -> str:
        return str(self.path / name)

    def put(self, name: str, pieces: Sequence[Piece]) -> None:
        unfinished = self._unfinished(name)
        try:
            try:
                file = open(unfinished, "wb")  # noqa: SIM115
            except FileNotFoundError:
                self.path.mkdir(parents=True, exist_ok=True)
                file = open(unfinished, "wb")  # noqa: SIM115
            with file:
                file.writelines(pieces)
                if self.syncs:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(unfinished, self.path / name)
        except OSError as problem:
            raise cannot("written", self, name, problem) from problem

    def write(self, name: str, fill: Fill) -> None:
        unfinished = self._unfinished(name)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with pa.OSFile(str(unfinished), "wb") as stream:
                fill(stream)
            os.replace(unfinished, self.path / name)
        except OSError as problem:
            raise cannot("written", self, name, problem) from problem

    def _unfinished(self, name: str) -> Path:
        return self.path / f".{name}.{os.getpid()}.{threading.get_ident()}{UNFINISHED}"

    def get(self, name: str) -> pa.Buffer:
        try:
            with pa.memory_map(str(self.path / name)) as file:
                return file.read_buffer()
        except (OSError, pa.ArrowException) as problem:
            return self._unmapped(name, problem)

    def get_range(self, name: str, start: int, size: int) -> pa.Buffer:
        try:
            with pa.memory_map(str(self.path / name)) as file:
                whole = file.size()
                begin = max(0, whole + start) if start < 0 else min(start, whole)
                file.seek(begin)
                return file.read_buffer(min(size, whole - begin))
        except (OSError, pa.ArrowException) as problem:
            return self._unmapped(name, problem)

    def _unmapped(self, name: str, problem: Exception) -> pa.Buffer:
        """An empty file cannot be mapped."""
        if self.has(name) and (self.path / name).stat().st_size == 0:
            return EMPTY
        raise cannot("read", self, name, problem) from problem

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def list(self, prefix: str = "") -> list[str]:
        try:
            with os.scandir(self.path) as entries:
                names = [e.name for e in entries if e.name.startswith(prefix) and e.is_file()]
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise cannot("listed", self, "", problem) from problem
        return sorted(name for name in names if not name.endswith(UNFINISHED))

    def remove(self, name: str) -> None:
        try:
            (self.path / name).unlink(missing_ok=True)
        except OSError as problem:
            raise cannot("removed", self, name, problem) from problem

    def remove_all(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def tidy(self) -> None:
        for path in self.path.rglob(f"*{UNFINISHED}"):
            path.unlink(missing_ok=True)

    def synced(self) -> LocalFolder:
        return replace(self, syncs=True)
