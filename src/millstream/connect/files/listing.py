"""The files behind a source: one file, a folder or a glob, in the order of their names.

Numbers in names count as numbers: `day-2` comes before `day-10`.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from os.path import isfile
from typing import Any

from millstream.connect.files.packed import ENDING, is_packed
from millstream.errors import MillstreamError, closest

ENDINGS = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
FORMATS = ("csv", "jsonl", "parquet")
BY_NUMBERS, BY_LETTERS = "numbers", "letters"
"""How names are put in order. Positions of earlier versions do not say it: theirs was by letters,
where `day-10` comes before `day-2`, and a run that goes on from one must not pass over files."""

PACKED = (".bz2", ".zst", ".zip", ".xz")


@dataclass(frozen=True)
class Listing:
    """The files of a source at one moment, in order."""

    names: list[str]
    order: str

    @property
    def first(self) -> str | None:
        return self.names[0] if self.names else None

    def after(self, file: str) -> str | None:
        key = _KEYS[self.order]
        place = bisect_right(self.names, key(file), key=key)
        return self.names[place] if place < len(self.names) else None


@dataclass(frozen=True)
class Files:
    """The files of a path, folder or glob, listed again on every call when they are followed.

    Law: the files are one sequence, in the order of their names, with numbers as numbers. A file
    counts as finished once one with a later name exists; a new file with an earlier name than the
    one being read has no place in the sequence and is not read.
    """

    path: str
    follow: bool
    format: str | None = None

    def now(self, order: str = BY_NUMBERS) -> Listing:
        """The files that there are now, for those who look several times."""
        if self.follow:
            return Listing(sorted(self._list(), key=_KEYS[order]), order)
        return Listing(self._by_numbers if order == BY_NUMBERS else self._by_letters, order)

    def all(self) -> list[str]:
        return self.now().names

    def first(self) -> str | None:
        return self.now().first

    @property
    def is_many(self) -> bool:
        return glob.has_magic(self.path) or os.path.isdir(self.path)

    @cached_property
    def _by_numbers(self) -> list[str]:
        return sorted(self._list(), key=_KEYS[BY_NUMBERS])

    @cached_property
    def _by_letters(self) -> list[str]:
        return sorted(self._by_numbers)

    def _list(self) -> list[str]:
        if os.path.isdir(self.path):
            return [file for file in files_in(self.path) if self._has_format(file)]
        if not glob.has_magic(self.path) or os.path.exists(self.path):
            return [self.path]
        folder, pattern = os.path.split(self.path)
        if not glob.has_magic(folder) and pattern != "**":
            return fnmatch.filter(files_in(folder), os.path.join(glob.escape(folder), pattern))
        names = glob.glob(self.path, recursive=True)
        return [name for name in names if _is_shown(os.path.basename(name)) and isfile(name)]

    def _has_format(self, file: str) -> bool:
        return self.format is None or ENDINGS.get(_ending(file)) in (None, self.format)


def files_in(folder: str) -> list[str]:
    """The files of a folder, in no order, without those that are hidden or only mark something.

    Folders may hold many thousands, and are listed for every batch: no file is looked at.
    """
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if _is_shown(entry.name) and entry.is_file()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_shown(name: str) -> bool:
    """Hidden files and markers such as _SUCCESS are no data."""
    return not name.startswith((".", "_"))


def order_at(position: Mapping[str, Any]) -> str:
    """The order of names that a position belongs to."""
    return position.get("order", BY_NUMBERS if position["file"] is None else BY_LETTERS)


@lru_cache(maxsize=1 << 17)
def by_numbers(name: str) -> tuple[list[str | int], str]:
    """The key by which names are put in order.

    >>> sorted(["d10", "d2", "d2b", "d02"], key=by_numbers)
    ['d02', 'd2', 'd2b', 'd10']
    """
    parts = re.split("([0-9]+)", name)
    return [int(part) if at % 2 else part for at, part in enumerate(parts)], name


_KEYS: dict[str, Any] = {BY_NUMBERS: by_numbers, BY_LETTERS: str}


def path_of(url: str, base: str) -> str:
    """Where a SOURCE points to, relative to the script's folder."""
    return os.path.abspath(os.path.join(base, os.path.expanduser(url.removeprefix("file://"))))


def resolve(url: str, base: str, follow: bool, format: str | None) -> Files:
    """The files a SOURCE names, relative to the script's folder; at least one, unless followed."""
    path = path_of(url, base)
    files = Files(path, follow, format)
    if glob.has_magic(path) and not os.path.exists(path):
        if not files.all() and not follow:
            raise MillstreamError(
                f'no file matches "{url}"', hint=f"The pattern is looked up in {base}."
            )
    elif os.path.isdir(path):
        if not files.all() and not follow:
            raise MillstreamError(
                f'folder "{url}" has no files',
                hint="Put a file into it, or follow it (--follow, db.start()).",
            )
    elif not os.path.exists(path):
        raise MillstreamError(f'file "{url}" does not exist', hint=nearby(path))
    return files


def format_of(files: Files, url: str, declared: str | None) -> str | None:
    """The format by WITH or by the names' ending; None while a followed folder is empty."""
    if declared is not None:
        return declared
    names = [files.path] if glob.has_magic(files.path) or not files.is_many else files.all()
    if glob.has_magic(files.path) and _ending(files.path) not in ENDINGS:
        names = files.all()
    found = {_format_by_ending(name, url) for name in names}
    if len(found) > 1:
        raise MillstreamError(
            f'"{url}" has files of several formats: {", ".join(sorted(found))}',
            hint="Name one kind with a pattern, such as '*.csv'.",
        )
    return found.pop() if found else None


def _format_by_ending(name: str, url: str) -> str:
    ending = _ending(name)
    if ending in PACKED or (is_packed(name) and ENDINGS.get(ending) == "parquet"):
        raise MillstreamError(
            f'file "{os.path.basename(name)}" is compressed and cannot be read',
            hint="Unpack it first, or pack it as .gz; Parquet files are compressed inside.",
        )
    if ending not in ENDINGS:
        raise MillstreamError(
            f'the ending of "{os.path.basename(name)}" does not say its format',
            hint="Say it: WITH (format = 'csv'), 'jsonl' or 'parquet'.",
        )
    return ENDINGS[ending]


def _ending(name: str) -> str:
    """What says the format: of `x.csv.gz` it is `.csv`."""
    return os.path.splitext(name.lower().removesuffix(ENDING))[1]


def nearby(path: str) -> str:
    """A hint about a path that is not there."""
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        return f"The folder {folder} does not exist either."
    meant = closest(name, sorted(os.listdir(folder)))
    return f"Did you mean {meant}?" if meant else f"It is looked up in {folder}."
