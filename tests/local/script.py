"""The command line on the local host, in this process or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from spark.command import command, files, write_bids

__all__ = ["Script", "command", "files", "write_bids"]


class Script:
    """A script in a folder, with its results in `out` and its checkpoint in `checkpoint`."""

    def __init__(self, folder: Path, text: str | None = None) -> None:
        self.folder, self.path = folder, folder / "script.sql"
        self.out, self.checkpoint = folder / "out", folder / "checkpoint"
        if text is not None:
            self.path.write_text(text)

    def words(self, *more: object) -> list[str]:
        every = ("run", self.path, "--host", "local", "--out", self.out)
        return command(*every, "--checkpoint", self.checkpoint, *more)

    def run(self, capfd, *more: object) -> tuple[int, str]:
        """Run it here; the exit code and what was said on the error output."""
        from millstream.cli.main import main

        before, sys.argv = sys.argv, ["millstream", *self.words(*more)[3:]]
        try:
            main()
            code = 0
        except SystemExit as leave:
            code = int(leave.code or 0)
        finally:
            sys.argv = before
        return code, " ".join(capfd.readouterr().err.split())

    def start(self, *more: object) -> subprocess.Popen:
        return subprocess.Popen(
            self.words(*more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def rows(self, name: str) -> list[str]:
        return (self.out / f"{name}.csv").read_text().splitlines()[1:]
