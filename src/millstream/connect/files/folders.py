"""A folder for every partition: `SOURCE 'devices' WITH (partitions = 'folders')`."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from millstream.catalog import Stream
from millstream.connect.files.formats import open_files
from millstream.connect.files.listing import Files, nearby, path_of
from millstream.connect.source import Source
from millstream.errors import MillstreamError


@dataclass(frozen=True)
class Folders:
    """The folders in a folder, or those of a pattern, each with a sequence of files.

    Law: a folder is a partition from its first file on, and is known by its name. Hidden folders,
    and those that begin with `_`, are left out, and so are folders in them.
    """

    path: str
    stream: Stream
    follow: bool

    @staticmethod
    def of(stream: Stream, follow: bool) -> Folders:
        """The folders of a SOURCE, the first of them looked into; at least one, unless followed."""
        assert stream.source is not None
        path = path_of(stream.source, stream.base)
        if not glob.has_magic(path) and not os.path.isdir(path):
            raise MillstreamError(
                f'folder "{stream.source}" does not exist',
                hint=nearby(path)
                if not os.path.exists(path)
                else "With partitions = 'folders' the source is a folder of folders.",
            )
        folders = Folders(path, stream, follow)
        names = sorted(folders.names())
        if not names and not follow:
            raise MillstreamError(
                f'"{stream.source}" has no folders with files',
                hint="Put files into folders in it, or follow it (--follow, db.start()).",
            )
        for name in names[:1]:
            folders.open(name)
        return folders

    @property
    def grows(self) -> bool:
        return self.follow

    def names(self) -> Sequence[str]:
        return list(self._list() if self.follow else self._listed)

    def open(self, name: str) -> Source:
        options = dict(self.stream.options)
        known = self._listed if name in self._listed else self._list()
        return open_files(self._files(known[name]), self.stream, options)

    @cached_property
    def _listed(self) -> dict[str, str]:
        return self._list()

    def _list(self) -> dict[str, str]:
        """The paths of all folders that have files, by their names."""
        magic = glob.has_magic(self.path) and not os.path.exists(self.path)
        found = glob.glob(self.path if magic else os.path.join(glob.escape(self.path), "*"))
        named = {os.path.relpath(path, self._base): path for path in found if _counts(path)}
        return {name: path for name, path in named.items() if self._files(path).all()}

    @cached_property
    def _base(self) -> str:
        """The folder that names are relative to: the last one without a pattern in it."""
        base = self.path
        while glob.has_magic(base) and not os.path.exists(base):
            base = os.path.dirname(base)
        return base

    def _files(self, folder: str) -> Files:
        given = dict(self.stream.options).get("format")
        return Files(folder, self.follow, given)


def _counts(path: str) -> bool:
    return os.path.isdir(path) and not os.path.basename(path).startswith((".", "_"))
