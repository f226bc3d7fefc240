"""Which folder a URL means."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import pyarrow as pa
from pyarrow import fs

from millstream.errors import MillstreamError
from millstream.files.arrow import ArrowFolder
from millstream.files.folder import Folder, StoreError
from millstream.files.local import LocalFolder
from millstream.files.problems import reason

SCHEMES = ("file", "hdfs", "s3")
"""What people write. `s3a`, as Hadoop calls it, is s3."""

THROUGH_ARROW = "arrow+file"
"""Local files through Arrow, as if they lay elsewhere: for tests."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def open_folder(url: str | Path | Folder) -> Folder:
    """The folder of a path or URL. It need not exist.

    >>> open_folder("file:///tmp/a%20b").shown
    '/tmp/a b'
    """
    if not isinstance(url, (str, Path)):
        return url
    found = _URL.match(url) if isinstance(url, str) else None
    if found is None:
        return LocalFolder(Path(url).absolute())
    scheme = found[1].lower()
    if scheme == "file":
        return LocalFolder(_path(str(url)))
    if scheme == THROUGH_ARROW:
        return ArrowFolder(str(url).rstrip("/"), str(_path(str(url))), fs.LocalFileSystem())
    scheme = "s3" if scheme == "s3a" else scheme
    if scheme not in SCHEMES:
        raise MillstreamError(
            f'"{_bare(str(url))}" cannot be opened: there is no kind of folder "{scheme}:"',
            hint=f"Write a path, or a URL that begins with {', '.join(f'{s}:' for s in SCHEMES)}.",
        )
    return _opened(urlunsplit(urlsplit(str(url))._replace(scheme=scheme)))


def open_file(address: str) -> tuple[Folder, str]:
    """The folder of a file, and its name in it; the address is one that a folder gave."""
    if _URL.match(address) is None:
        path = Path(address)
        return LocalFolder(path.parent), path.name
    parts = urlsplit(address)
    above, _, name = parts.path.rpartition("/")
    return open_folder(urlunsplit(parts._replace(path=above))), unquote(name)


def spark_url(folder: Folder) -> str:
    """The folder as Spark, that is Hadoop, names it."""
    if isinstance(folder, LocalFolder):
        return folder.shown
    parts = urlsplit(folder.shown)
    scheme = {"s3": "s3a", THROUGH_ARROW: "file"}.get(parts.scheme, parts.scheme)
    return urlunsplit(parts._replace(scheme=scheme))


@lru_cache(maxsize=32)
def _opened(url: str) -> ArrowFolder:
    try:
        system, path = fs.FileSystem.from_uri(url)
    except (OSError, ValueError, pa.ArrowException) as problem:
        raise StoreError(
            f'"{_bare(url)}" cannot be opened: {reason(problem)}',
            hint="Look at the URL, and at what the store needs in the environment.",
        ) from None
    return ArrowFolder(url.rstrip("/"), path.rstrip("/"), system)


def _path(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise MillstreamError(
            f'"{url}" cannot be opened: it names a machine, "{parts.netloc}"',
            hint="Write three slashes: file:///folder.",
        )
    return Path(unquote(parts.path)).absolute()


def _bare(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
