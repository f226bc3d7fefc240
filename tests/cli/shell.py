"""The command line in this process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from millstream.cli.main import main


class Shell:
    """Runs `millstream` in this process and remembers what it printed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capfd = monkeypatch, capfd
        self.out = self.err = ""

    def __call__(self, *arguments: str | Path) -> int:
        self.monkeypatch.setattr(sys, "argv", ["millstream", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as leave:
            code = int(leave.code or 0)
        self.out, self.err = self.capfd.readouterr()
        assert "Traceback" not in self.out + self.err
        assert "a fault in Millstream" not in self.err
        return code
