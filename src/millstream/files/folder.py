"""Folders: what all kinds of them promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import pyarrow as pa

from millstream.errors import MillstreamError
from millstream.files.problems import hint_for, reason

UNFINISHED = ".unfinished"
"""How the name of a file ends that is not whole yet. No folder lists it."""

Piece: TypeAlias = bytes | pa.Buffer
Fill: TypeAlias = Callable[[pa.NativeFile], None]
"""Writes the bytes of a file to a stream."""


class StoreError(MillstreamError):
    """A folder cannot be reached, read or written."""


class MissingFile(StoreError):
    """There is no file of that name."""


class Folder(Protocol):
    """Files by name, each written once and whole.

    Law: after `put` has returned, everybody who reads the name finds all of the new bytes, and
    everybody who lists the folder finds the name. Before, and when the writer dies on the way,
    nobody finds any of them. A name that is put again has its bytes of before, or is missing for a
    moment; a store may give who reads meanwhile as many of the new bytes as there were before. So
    what is put again has a checksum, or always one size.
    """

    @property
    def url(self) -> str:
        """What `open_folder` opens this folder from, in any process."""

    @property
    def shown(self) -> str:
        """The folder as messages name it, without the keys that its URL may hold."""

    def folder(self, name: str) -> Folder:
        """A folder in this one; it need not be there before something is put into it."""

    def address(self, name: str) -> str:
        """What `open_file` finds a file of this folder by, in any process."""

    def put(self, name: str, pieces: Sequence[Piece]) -> None:
        """Write a file of these pieces, one after the other, whole and atomically."""

    def write(self, name: str, fill: Fill) -> None:
        """The same for a file whose bytes are not at hand as pieces: `fill` writes them."""

    def get(self, name: str) -> pa.Buffer:
        """All bytes of a file. Raises `MissingFile`."""

    def get_range(self, name: str, start: int, size: int) -> pa.Buffer:
        """So many bytes from a position on, fewer where the file ends; a negative position counts
        from the end, and reaches no further than the beginning. Raises `MissingFile`."""

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""

    def list(self, prefix: str = "") -> list[str]:
        """The names of the files in the folder that begin so, sorted; not those of folders in it.
        Empty when there is no such folder."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def remove_all(self) -> None:
        """Remove the folder and all that is in it."""

    def tidy(self) -> None:
        """Remove what writers that died have left unfinished, here and below. For the beginning of
        a run, when nobody else writes."""

    def synced(self) -> Folder:
        """The same folder; what is put into this one outlives the machine's loss of power too."""


def cannot(what: str, folder: Folder, name: str, problem: BaseException) -> StoreError:
    """The error for a file that cannot be read or written."""
    place = f"{folder.shown}/{name}" if name else folder.shown
    if isinstance(problem, FileNotFoundError):
        return MissingFile(f'"{place}" does not exist')
    said = f'"{place}" cannot be {what}: {reason(problem)}'
    return StoreError(said, hint=hint_for(problem))
