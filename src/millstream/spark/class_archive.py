"""Spark's classes as Java has prepared them once, kept for later starts.

Half of what Java does until Spark has answered for the first time is to read and check classes. The
first Java process of a machine writes them down when it ends, which it does by itself, after the
command; later ones map the file. It is made anew for another Java or another Spark. A Java that
cannot write one, or does not like the one it finds, reads classes as ever.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pyspark.find_spark_home import _find_spark_home

from millstream.files import private_folder

SILENT = "-Xlog:disable -Xlog:all=error:stderr"
"""Java says on standard output what it does not like about an archive."""

ABANDONED = 3600.0
"""Seconds after which a file that is not whole is not written any more."""


def java_options(java: str) -> str:
    """What a Java process is told, so that it reads the archive, or makes it when it ends."""
    archive = _archive(java)
    if archive is None:
        return ""
    if archive.exists():
        return f'-Xshare:auto -XX:SharedArchiveFile="{archive}" {SILENT}'
    part = archive.with_suffix(f".{uuid4().hex}.part")
    return f'-XX:ArchiveClassesAtExit="{part}" {SILENT}'


def is_there(java: str) -> bool:
    """Whether the archive has been made."""
    archive = _archive(java)
    return archive is not None and archive.exists()


def is_begun(java: str) -> bool:
    """Whether a process is writing the archive, or has stopped in the middle."""
    archive = _archive(java)
    return archive is not None and any(archive.parent.glob(f"{archive.stem}.*.part"))


def _archive(java: str) -> Path | None:
    """Where the archive is, or will be; None where there cannot be one."""
    folder, home = private_folder("java"), Path(_find_spark_home())
    if folder is None or _has_settings(home):
        return None
    archive = folder / f"spark-{_digest(Path(java), home / 'jars')}.jsa"
    _put_in_place(archive)
    return archive


def _has_settings(home: Path) -> bool:
    """Whether there is a folder of settings, which lies among the classes: Java then has no
    archives."""
    return "SPARK_CONF_DIR" in os.environ or (home / "conf").exists()


def _digest(java: Path, jars: Path) -> str:
    """A name for a Java and the classes of a Spark."""
    java = java.resolve()
    said = [f"{path} {path.stat().st_mtime_ns}" for path in (java, jars, *sorted(jars.iterdir()))]
    return hashlib.sha256("\0".join(said).encode()).hexdigest()[:16]


def _put_in_place(archive: Path) -> None:
    """Give the archive its name when a process has written one to the end."""
    for part in archive.parent.glob(f"{archive.stem}.*.part"):
        with suppress(OSError):  # another process was first
            if _is_whole(part):
                part.replace(archive)
            elif part.stat().st_mtime < time.time() - ABANDONED:
                part.unlink()


def _is_whole(part: Path) -> bool:
    """Java writes the head of the file last."""
    with part.open("rb") as file:
        return any(file.read(4))
