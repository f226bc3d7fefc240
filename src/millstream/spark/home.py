"""Spark's folder as its Java process sees it: without the archives of Python's sources.

Spark puts an archive of PySpark's sources first on the path of every Python process that it starts.
Python has to compile what it imports from an archive each time, half a second of work, and Spark
starts four processes before its first batch. Where PySpark is installed for this interpreter, its
processes find it there, compiled. So they are given a folder of links to Spark's own that has no
archives. It is made once; what is in the way of it leaves things as they are.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from pathlib import Path

import pyspark
from pyspark.find_spark_home import _find_spark_home

from millstream.files import private_folder

LINKED = ("bin", "jars", "sbin", "RELEASE")
"""What Java's process and the scripts that start it look for."""


def lean_home() -> str | None:
    """The folder of links; None where Spark is used as it was set up, or links cannot be made."""
    if "SPARK_HOME" in os.environ or "SPARK_CONF_DIR" in os.environ or not _is_installed():
        return None
    home, folder = Path(_find_spark_home()).resolve(), private_folder("java")
    if folder is None or (home / "conf").exists():
        return None
    links = folder / f"home-{hashlib.sha256(str(home).encode()).hexdigest()[:16]}"
    try:
        links.mkdir(mode=0o700, exist_ok=True)
        for name in LINKED:
            if (home / name).exists():
                _link(links / name, home / name)
    except OSError:
        return None
    return str(links)


def _is_installed() -> bool:
    """Whether every process of this interpreter finds PySpark among its packages."""
    found = Path(pyspark.__file__).parent.parent
    return str(found) in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}


def _link(link: Path, target: Path) -> None:
    """A link that another process may be making at this moment."""
    try:
        link.symlink_to(target)
    except FileExistsError:
        if not link.samefile(target):
            raise
