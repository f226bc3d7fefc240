"""The bytes of text files, those of gzip files (`.gz`) unpacked."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import IO

import numpy as np

from millstream.errors import MillstreamError

ENDING = ".gz"
KEPT = 4


class Unfinished(MillstreamError):
    """A gzip file whose end is missing: it may still be being written."""


def is_packed(file: str) -> bool:
    return file.lower().endswith(ENDING)


def size_of(file: str) -> int:
    """How many bytes of text there are."""
    return _unpacked(file).size if is_packed(file) else os.path.getsize(file)


def read_range(file: str, start: int, end: int) -> np.ndarray:
    """Some bytes of the text.

    Law: a gzip file is read as the file that was packed would be, so that positions in it, cuts and
    what is appended to it mean the same.
    """
    if is_packed(file):
        return _unpacked(file).range(start, end)
    with open(file, "rb") as handle:
        return _range(handle, start, end)


@dataclass(frozen=True)
class Unpacked:
    """The text of a gzip file, in a temporary file that goes away with this process."""

    handle: IO[bytes]
    size: int

    def range(self, start: int, end: int) -> np.ndarray:
        return _range(self.handle, start, end)


def _range(handle: IO[bytes], start: int, end: int) -> np.ndarray:
    handle.seek(start)
    return np.frombuffer(handle.read(end - start), np.uint8)


def _unpacked(file: str) -> Unpacked:
    status = os.stat(file)
    return _unpack(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=KEPT)
def _unpack(file: str, changed: int, size: int) -> Unpacked:
    """Unpack a file once, whatever is read of it: there is no other way to its middle."""
    name = os.path.basename(file)
    handle = tempfile.TemporaryFile(prefix="millstream-")  # noqa: SIM115 - it outlives this call
    try:
        with gzip.open(file) as packed:
            shutil.copyfileobj(packed, handle, 1 << 20)
    except EOFError:
        raise Unfinished(
            f'gzip file "{name}" has no end',
            detail=f"{handle.tell():,} bytes could be unpacked.",
            hint="Copy it again, whole.",
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise MillstreamError(
            f'file "{name}" cannot be unpacked as gzip',
            detail=f"{handle.tell():,} bytes could be unpacked, then: {error}.",
            hint="If it is not packed, give it a name without .gz.",
        ) from None
    handle.flush()
    return Unpacked(handle, handle.tell())
