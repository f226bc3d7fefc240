"""Folders for what is made once and used by later processes, such as machine code."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def private_folder(name: str) -> Path | None:
    """A folder in the user's cache that only the user can write; None where there is none."""
    named = os.environ.get("MILLSTREAM_CACHE")
    try:
        base = Path(named) if named else Path.home() / ".cache" / "millstream"
        folder = base / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        private = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        return folder if private and mine and os.access(folder, os.W_OK) else None
    except (OSError, RuntimeError):
        return None
