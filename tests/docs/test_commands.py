"""The commands of docs/command-line.md print what the page shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.examples import BLOCK, ROOT

PAGE = ROOT / "docs" / "command-line.md"
BLOCKS = [block.groups() for block in BLOCK.finditer(PAGE.read_text())]
SESSIONS = [body for kind, _, body in BLOCKS if kind == "console"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    for kind, name, body in BLOCKS:
        if kind in ("csv", "sql") and name:
            (tmp_path / name).write_text(body)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("session", SESSIONS, ids=range(len(SESSIONS)))
def test_session(session: str, folder: Path) -> None:
    assert shutil.which("sh")
    for command, shown in re.findall(r"^\$ millstream (.*)\n((?:(?!\$ ).*\n)*)", session, re.M):
        done = subprocess.run(
            ["sh", "-c", f'exec "$0" -m millstream.cli.main {command}', sys.executable],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.stdout == shown, command


def test_every_command_is_described() -> None:
    from millstream.cli.main import app

    commands = [c.callback.__name__ for c in app.registered_commands if c.callback]
    text = PAGE.read_text()
    assert len(SESSIONS) >= 4 and all(f"`millstream {name}" in text for name in commands)
