"""Flink's environment: its packages ask for older ones than ours, so it has a place of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "2.1.0"
PACKAGES = (
    f"apache-flink=={VERSION}",
    f"apache-flink-libraries=={VERSION}",
    "py4j==0.10.9.7",
    "python-dateutil==2.9.0.post0",
    "six==1.17.0",
    "cloudpickle==3.1.2",
    "pytz==2025.2",
    "ruamel.yaml==0.18.6",
    "typing_extensions==4.15.0",
)
"""What the Table API imports. Python functions would need Beam, pandas and an old Arrow besides."""

OLDEST, NEWEST = (3, 9), (3, 12)


class Missing(Exception):
    """Flink cannot be had here; the text is the reason."""


def python_of(folder: Path) -> Path:
    """The Python of the environment, which is made and filled the first time."""
    python, ready = folder / "bin" / "python", folder / f".ready-{VERSION}"
    if not ready.exists():
        print(f"installing Flink {VERSION} into {folder}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        _run(_base(), "-m", "venv", "--without-pip", str(folder))
        pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet")
        _run(*pip, "--disable-pip-version-check", "--no-deps", *PACKAGES)
        _run(str(python), "-c", "import pyflink.table")
        ready.touch()
    return python


def _base() -> str:
    """A Python that Flink has packages for: this one, or another on the path."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        if found := shutil.which(f"python3.{minor}"):
            return found
    raise Missing("Flink needs Python 3.9 to 3.12, and there is none on the path")


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise Missing(f"Flink {VERSION} could not be installed: {lines[-1]}")
