"""Folders of Arrow's file systems: HDFS, S3 and what speaks like it."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlsplit, urlunsplit

import pyarrow as pa
from pyarrow import fs

from millstream.files.folder import UNFINISHED, Fill, Piece, StoreError, cannot

PROBLEMS = (OSError, pa.ArrowException)

OBJECT_STORES = ("s3",)
"""File systems in which a file appears when its writer closes it, and not before."""


@dataclass(frozen=True)
class ArrowFolder:
    """A folder of a file system that Arrow knows, at a path of it.

    Where files show while they are written, they are written under a name of their own and moved.
    Costs a request per call, and one more to move.
    """

    url: str
    path: str
    system: fs.FileSystem = field(compare=False)

    @staticmethod
    def over(system: fs.FileSystem, path: str) -> ArrowFolder:
        """A folder of a file system at hand, for this process only: it has no URL."""
        return ArrowFolder(f"{system.type_name}:{path}", path.rstrip("/"), system)

    @property
    def shown(self) -> str:
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def folder(self, name: str) -> ArrowFolder:
        return replace(self, url=self.address(name), path=self._at(name))

    def address(self, name: str) -> str:
        parts = urlsplit(self.url)
        path = f"{parts.path.rstrip('/')}/{quote(name)}"
        return urlunsplit(parts._replace(path=path))

    def put(self, name: str, pieces: Sequence[Piece]) -> None:
        def fill(stream: pa.NativeFile) -> None:
            for piece in pieces:
                stream.write(piece)

        self.write(name, fill)

    def write(self, name: str, fill: Fill) -> None:
        final = self._at(name)
        try:
            if _base(self.system).type_name in OBJECT_STORES:
                self._write(final, fill)
                return
            mark = f"{os.getpid()}.{threading.get_ident()}"
            unfinished = self._at(f".{name}.{mark}{UNFINISHED}")
            self._write(unfinished, fill)
            self._move(unfinished, final)
        except PROBLEMS as problem:
            error = cannot("written", self, name, problem)
            raise StoreError(error.message, hint=error.hint) from problem

    def _write(self, path: str, fill: Fill) -> None:
        try:
            stream = self.system.open_output_stream(path)
        except FileNotFoundError:
            self.system.create_dir(self.path, recursive=True)
            stream = self.system.open_output_stream(path)
        with stream:
            fill(stream)

    def _move(self, unfinished: str, final: str) -> None:
        """Some file systems move nothing to where a file is: it makes room first."""
        try:
            self.system.move(unfinished, final)
        except PROBLEMS:
            if not self._is_file(final):
                raise
            self.system.delete_file(final)
            self.system.move(unfinished, final)

    def get(self, name: str) -> pa.Buffer:
        try:
            with self.system.open_input_file(self._at(name)) as file:
                return file.read_buffer()
        except PROBLEMS as problem:
            raise cannot("read", self, name, problem) from problem

    def get_range(self, name: str, start: int, size: int) -> pa.Buffer:
        try:
            with self.system.open_input_file(self._at(name)) as file:
                whole = file.size()
                begin = max(0, whole + start) if start < 0 else min(start, whole)
                file.seek(begin)
                return file.read_buffer(min(size, whole - begin))
        except PROBLEMS as problem:
            raise cannot("read", self, name, problem) from problem

    def has(self, name: str) -> bool:
        try:
            return self._is_file(self._at(name))
        except PROBLEMS as problem:
            raise cannot("looked for", self, name, problem) from problem

    def list(self, prefix: str = "") -> list[str]:
        try:
            found = self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        except PROBLEMS as problem:
            raise cannot("listed", self, "", problem) from problem
        names = [info.base_name for info in found if info.type is fs.FileType.File]
        return sorted(n for n in names if n.startswith(prefix) and not n.endswith(UNFINISHED))

    def remove(self, name: str) -> None:
        try:
            self.system.delete_file(self._at(name))
        except FileNotFoundError:
            return
        except PROBLEMS as problem:
            if self.has(name):
                raise cannot("removed", self, name, problem) from problem

    def remove_all(self) -> None:
        try:
            self.system.delete_dir(self.path)
        except FileNotFoundError:
            return
        except PROBLEMS as problem:
            raise cannot("removed", self, "", problem) from problem

    def tidy(self) -> None:
        if _base(self.system).type_name in OBJECT_STORES:
            return
        try:
            below = fs.FileSelector(self.path, allow_not_found=True, recursive=True)
            for info in self.system.get_file_info(below):
                if info.path.endswith(UNFINISHED):
                    self.system.delete_file(info.path)
        except PROBLEMS as problem:
            raise cannot("tidied", self, "", problem) from problem

    def synced(self) -> ArrowFolder:
        return self

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name

    def _is_file(self, path: str) -> bool:
        return self.system.get_file_info(path).type is fs.FileType.File


def _base(system: fs.FileSystem) -> fs.FileSystem:
    """The file system below those that only show a part of it."""
    return _base(system.base_fs) if isinstance(system, fs.SubTreeFileSystem) else system
